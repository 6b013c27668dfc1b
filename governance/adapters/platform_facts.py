"""What the operating system says about this host, as bytes and text: C library, CPU, OS packages,
environment.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from governance.adapters.names import printable
from governance.adapters.packages import read_small
from governance.adapters.weights import File, list_files
from governance.errors import Unreadable
from governance.values import Unknown


@dataclass(frozen=True, slots=True)
class Host:
    """One host: `cpu_info`, `os_release` and `dpkg_status` are file contents, `None` where there are none."""

    machine: str
    kernel: str
    os_release: bytes | None
    cpu_info: bytes | None
    dpkg_status: bytes | None


def host(root: Path = Path("/")) -> Host:
    """The facts of this host; `root` may be the root of an unpacked image."""
    return Host(
        machine=platform.machine(),
        kernel=platform.release(),
        os_release=read_small(str(root / "etc/os-release")),
        cpu_info=read_small("/proc/cpuinfo"),
        dpkg_status=_dpkg(root),
    )


def machine() -> str:
    """The machine as the kernel names it: `x86_64`."""
    return platform.machine()


def _dpkg(root: Path) -> bytes | None:
    """The dpkg status; distroless images keep one file per package in `status.d`."""
    whole = read_small(str(root / "var/lib/dpkg/status"))
    if whole is not None:
        return whole
    parts = [read_small(str(path)) for path in sorted((root / "var/lib/dpkg/status.d").glob("*"))]
    found = [part for part in parts if part is not None]
    return b"\n\n".join(found) if found else None


def environment(pid: int | None = None) -> Mapping[str, str]:
    """The variables of this process, or of process `pid`. Raises `Unreadable` when that cannot be looked
    at.
    """
    if pid is None:
        return {printable(name): printable(value) for name, value in os.environ.items()}
    try:
        data = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError as err:
        raise Unreadable(
            f"the environment of process {pid} cannot be read: {err.strerror}",
            where=f"/proc/{pid}/environ",
            hint="run as the user of the server, or give the number of a running process",
        ) from err
    pairs = (part.partition(b"=") for part in data.split(b"\0") if b"=" in part)
    return {printable(os.fsdecode(name)): printable(os.fsdecode(value)) for name, _, value in pairs}


def root_of(pid: int) -> Path | None:
    """The root folder of a process in a container, as seen from here; `None` when it sees our own files.

    It is told by the mount namespace: the root itself reads as `/` from inside and outside.
    """
    try:
        theirs, ours = (Path(f"/proc/{who}/ns/mnt").readlink() for who in (pid, "self"))
    except OSError:
        return None
    return None if theirs == ours else Path(f"/proc/{pid}/root")


def loaded_files(pid: int) -> tuple[File, ...] | Unknown:
    """The program of process `pid` and the shared libraries in its memory, sorted by path inside its root."""
    root = root_of(pid)
    try:
        lines = Path(f"/proc/{pid}/maps").read_text("utf-8", "backslashreplace").splitlines()
    except OSError as err:
        return Unknown(f"process {pid} cannot be looked at: {err.strerror}")
    columns = (line.split(None, 5) for line in lines)
    paths = {
        parts[5] for parts in columns if len(parts) == 6 and "x" in parts[1] and parts[5].startswith("/")
    }
    gone = sorted(path for path in paths if path.endswith(" (deleted)"))
    if gone:
        return Unknown(f"`{gone[0].removesuffix(' (deleted)')}` was replaced since process {pid} loaded it")
    files: list[File] = []
    for path in sorted(paths):
        (found,) = list_files(Path(f"{root or ''}{path}")).files
        files.append(replace(found, name=path))
    return tuple(files)


def interpreter_of(pid: int) -> Path | Unknown:
    """The Python that process `pid` was started with, by the path of its environment where that is known.

    In a container it is a path below the root of the container.
    """
    try:
        first = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
        program = Path(f"/proc/{pid}/exe").readlink()
    except OSError as err:
        return Unknown(f"process {pid} cannot be looked at: {err.strerror}")
    named = Path(os.fsdecode(first))
    root = root_of(pid) or Path("/")
    there = root / str(named).lstrip("/")
    chosen = named if named.is_absolute() and (there.exists() or there.is_symlink()) else program
    return chosen if "python" in chosen.name else Unknown(f"process {pid} is `{program.name}`, not Python")
