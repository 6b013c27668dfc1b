"""The installed distributions of one Python interpreter, as bytes: what is there, not what it means.

- `importlib.metadata` is not imported: listing folders is a fifth of its time (bench/packages.py).
- The interpreter is this one, another one that is asked (`python -I`), or a folder whose layout is read when
  the interpreter cannot run here (another architecture, an unpacked image).
- Nothing is parsed but folder names; `fingerprint/packages.py` judges the bytes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from governance.errors import MissingTool, Unreadable

CHUNK: Final = 1 << 15
PROBE: Final = (
    "import os,sys\n"
    "def libc():\n"
    "    try: return os.confstr('CS_GNU_LIBC_VERSION') or ''\n"
    "    except (AttributeError, ValueError, OSError): return ''\n"
    "print('\\n'.join(['tierlock', sys.version.split()[0], sys.implementation.name,"
    " os.uname().machine if hasattr(os, 'uname') else '', libc(), sys.prefix, *sys.path]))\n"
)
PROBE_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class Interpreter:
    """One interpreter: its version, and the folders it imports from, first wins.

    `found` says how it was found: `this process`, `asked` or `folder layout`. Empty text means not known.
    """

    version: str
    implementation: str
    machine: str
    libc: str
    prefix: str
    path: tuple[str, ...]
    found: str


@dataclass(frozen=True, slots=True)
class Distribution:
    """The metadata of one distribution as found: `folder` below `site`, and the bytes of three of its
    files.
    """

    site: str
    folder: str
    record: bytes | None
    direct_url: bytes | None
    metadata: bytes | None


def this_interpreter() -> Interpreter:
    """The interpreter that runs this code. Started with `-S`, its folders are found by layout."""
    if "site" not in sys.modules:
        return interpreter_by_layout(Path(sys.executable))
    folders = tuple(entry for entry in dict.fromkeys(sys.path) if entry and Path(entry).is_dir())
    return Interpreter(
        version=sys.version.split()[0],
        implementation=sys.implementation.name,
        machine=os.uname().machine,
        libc=libc_version(),
        prefix=sys.prefix,
        path=folders,
        found="this process",
    )


def libc_version() -> str:
    """`glibc 2.36` as the C library says it, or empty text where it is not glibc."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):
        return ""


def interpreter(python: Path) -> Interpreter:
    """The interpreter at `python` (an executable or the folder of its environment).

    It is asked for its folders; when it cannot run here they are read from the layout. Raises `Unreadable`
    when there is no interpreter, `MissingTool` when there is one that neither runs nor has a known layout.
    """
    executable = _executable(python)
    answer = _ask(executable)
    if answer is None:
        return interpreter_by_layout(executable)
    version, implementation, machine, libc, prefix, *path = answer
    folders = tuple(entry for entry in dict.fromkeys(path) if entry and Path(entry).is_dir())
    return Interpreter(version, implementation, machine, libc, prefix, folders, "asked")


def _executable(python: Path) -> Path:
    candidates = [python]
    if python.is_dir():
        candidates = [
            python / "bin" / "python",
            python / "bin" / "python3",
            python / "Scripts" / "python.exe",
        ]
    for candidate in candidates:
        if candidate.is_file() or candidate.is_symlink():
            return candidate.absolute()
    raise Unreadable(
        f"there is no interpreter at `{python}`",
        where=str(python),
        hint="give the path of a python executable",
    )


def _ask(executable: Path) -> list[str] | None:
    import subprocess

    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    try:
        done = subprocess.run(
            [str(executable), "-I", "-c", PROBE],
            capture_output=True,
            timeout=PROBE_SECONDS,
            env=clean,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.decode("utf-8", "surrogateescape").splitlines()
    return lines[1:] if done.returncode == 0 and len(lines) > 5 and lines[0] == "tierlock" else None


def interpreter_by_layout(executable: Path) -> Interpreter:
    """The interpreter at `executable`, told from the folders around it; nothing is run.

    Raises `MissingTool` when no `site-packages` folder is found.
    """
    prefix = executable.parent.parent
    settings = _pyvenv(prefix)
    folders = _site_folders(prefix)
    if settings.get("include-system-site-packages") == "true" and "home" in settings:
        folders += _site_folders(Path(settings["home"]).parent)
    if not folders:
        raise MissingTool(
            f"`{executable}` does not run here and has no `site-packages` beside it",
            where=str(executable),
            hint="run tierlock on the host or in the image that serves, or give a `pip freeze` file",
        )
    version = settings.get("version_info") or settings.get("version") or _version_of(folders[0])
    return Interpreter(
        version=".".join(version.split(".")[:3]),
        implementation=settings.get("implementation", "").lower(),
        machine="",
        libc="",
        prefix=str(prefix),
        path=tuple(map(str, folders)),
        found="folder layout",
    )


def _pyvenv(prefix: Path) -> dict[str, str]:
    try:
        text = (prefix / "pyvenv.cfg").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip().lower(): value.strip() for key, sign, value in pairs if sign}


def _site_folders(prefix: Path) -> list[Path]:
    patterns = (
        "lib/python3.*/site-packages",
        "lib64/python3.*/site-packages",
        "lib/python3/dist-packages",
        "lib/python3.*/dist-packages",
        "local/lib/python3.*/dist-packages",
        "lib/pypy3.*/site-packages",
        "Lib/site-packages",
    )
    found = (folder for pattern in patterns for folder in sorted(prefix.glob(pattern)))
    unique = {folder.resolve(): folder for folder in found if folder.is_dir()}
    return list(unique.values())


def _version_of(site: Path) -> str:
    name = site.parent.name
    return name.removeprefix("python") if name.startswith("python3.") else ""


def distributions(path: Sequence[str]) -> Iterator[Distribution]:
    """Every distribution in the folders of `path`, folder by folder, sorted by name within one."""
    for site in path:
        try:
            names = os.listdir(site)  # noqa: PTH208  os.listdir is half the time of iterdir
        except OSError:
            continue
        for name in sorted(names):
            if name.endswith(".dist-info"):
                yield _read(site, name)
            elif name.endswith((".egg-info", ".egg", ".egg-link")):
                yield _read_egg(site, name)


def _read(site: str, name: str) -> Distribution:
    base = f"{site}/{name}/"
    record = read_small(base + "RECORD")
    metadata = None if record is not None else read_small(base + "METADATA")
    return Distribution(site, name, record, read_small(base + "direct_url.json"), metadata)


def _read_egg(site: str, name: str) -> Distribution:
    place = f"{site}/{name}"
    inner = f"{place}/EGG-INFO/PKG-INFO" if name.endswith(".egg") else f"{place}/PKG-INFO"
    metadata = read_small(inner)
    return Distribution(site, name, None, None, metadata if metadata is not None else read_small(place))


def read_small(path: str) -> bytes | None:
    """The bytes of a file, or `None` when it is not there or not a readable file."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        first = os.read(handle, CHUNK)
        if len(first) < CHUNK:
            return first
        parts = [first]
        while part := os.read(handle, 1 << 20):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return None
    finally:
        os.close(handle)


def conda_records(prefix: str) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every `conda-meta/*.json` of the environment at `prefix`, sorted by name."""
    folder = f"{prefix}/conda-meta"
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return
    for name in sorted(names):
        if name.endswith(".json"):
            data = read_small(f"{folder}/{name}")
            if data is not None:
                yield name, data


def module_file(path: Sequence[str], name: str) -> bytes | None:
    """The bytes of a file such as `torch/version.py` in the first folder that has it; nothing is imported."""
    for site in path:
        data = read_small(f"{site}/{name}")
        if data is not None:
            return data
    return None
