"""The installed distributions of one Python interpreter, as bytes: what is there, not what it means.

- `importlib.metadata` is not imported: listing folders is a fifth of its time (bench/packages.py).
- The interpreter is this one, another one that is asked (`python -I`), or a folder whose layout is read when
  the interpreter cannot run here (another architecture, an unpacked image).
- Nothing is parsed but folder names; `fingerprint/packages.py` judges the bytes.
"""

from __future__ import annotations

import os
import os.path
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from governance.adapters.names import printable
from governance.errors import MissingTool, Unreadable

if TYPE_CHECKING:
    from pathlib import Path

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


class Interpreter(NamedTuple):
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


class Distribution(NamedTuple):
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
        return interpreter_by_layout(sys.executable)
    return Interpreter(
        version=sys.version.split()[0],
        implementation=sys.implementation.name,
        machine=os.uname().machine,
        libc=libc_version(),
        prefix=sys.prefix,
        path=_folders(sys.path),
        found="this process",
    )


def _folders(path: Sequence[str]) -> tuple[str, ...]:
    return tuple(entry for entry in dict.fromkeys(path) if entry and os.path.isdir(entry))  # noqa: PTH112


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
        return interpreter_by_layout(str(executable))
    version, implementation, machine, libc, prefix, *path = answer
    return Interpreter(version, implementation, machine, libc, prefix, _folders(path), "asked")


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


def interpreter_by_layout(executable: str) -> Interpreter:
    """The interpreter at `executable`, told from the folders around it; nothing is run.

    Raises `MissingTool` when no `site-packages` folder is found.
    """
    prefix = _above(_above(executable))
    settings = _pyvenv(prefix)
    folders = _site_folders(prefix)
    if settings.get("include-system-site-packages") == "true" and "home" in settings:
        folders += _site_folders(_above(settings["home"]))
    if not folders:
        raise MissingTool(
            f"`{executable}` does not run here and has no `site-packages` beside it",
            where=executable,
            hint="run tierlock on the host or in the image that serves, or give a `pip freeze` file",
        )
    version = settings.get("version_info") or settings.get("version") or _version_of(folders[0])
    return Interpreter(
        version=".".join(version.split(".")[:3]),
        implementation=settings.get("implementation", "").lower(),
        machine="",
        libc="",
        prefix=prefix,
        path=tuple(folders),
        found="folder layout",
    )


def _above(path: str) -> str:
    return os.path.dirname(path.rstrip("/")) or "/"  # noqa: PTH120


def _pyvenv(prefix: str) -> dict[str, str]:
    data = read_small(f"{prefix}/pyvenv.cfg") or b""
    pairs = (line.partition("=") for line in data.decode("utf-8", "replace").splitlines())
    return {key.strip().lower(): value.strip() for key, sign, value in pairs if sign}


def _site_folders(prefix: str) -> list[str]:
    """The package folders of an installation: of pip, of Debian, of a venv on Windows."""
    found = [f"{prefix}/Lib/site-packages"]
    for base in ("lib", "lib64", "local/lib"):
        names = [name for name in _names(f"{prefix}/{base}") if name.startswith(("python3", "pypy3"))]
        found += [f"{prefix}/{base}/{n}/{kind}" for n in names for kind in ("site-packages", "dist-packages")]
    return list({os.path.realpath(folder): folder for folder in reversed(_folders(found))}.values())[::-1]


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  half the time of iterdir
    except OSError:
        return []


def _version_of(site: str) -> str:
    name = site.split("/")[-2]
    return name.removeprefix("python") if name.startswith("python3.") else ""


def distributions(path: Sequence[str]) -> Iterator[Distribution]:
    """Every distribution in the folders of `path`, folder by folder, sorted by name within one."""
    for site in path:
        for name in _names(site):
            if name.endswith(".dist-info"):
                yield _read(site, name)
            elif name.endswith((".egg-info", ".egg", ".egg-link")):
                yield _read_egg(site, name)


def _read(site: str, name: str) -> Distribution:
    base = f"{site}/{name}/"
    record = read_small(base + "RECORD")
    metadata = None if record is not None else read_small(base + "METADATA")
    direct_url = read_small(base + "direct_url.json")
    return Distribution(printable(site), printable(name), record, direct_url, metadata)


def _read_egg(site: str, name: str) -> Distribution:
    place = f"{site}/{name}"
    inner = f"{place}/EGG-INFO/PKG-INFO" if name.endswith(".egg") else f"{place}/PKG-INFO"
    metadata = read_small(inner)
    found = metadata if metadata is not None else read_small(place)
    return Distribution(printable(site), printable(name), None, None, found)


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
    for name in _names(folder):
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
