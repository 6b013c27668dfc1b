"""Which files a program would load, asked before it runs: its interpreter line, or its shared libraries.

- The program itself is never started. A script is known by its first lines; of an ELF file the dynamic loader
  it names is asked to list (`ld.so --list`), which maps libraries and runs no code of the program.
- Libraries that a program opens later by itself are in no such list: only the running process shows them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from governance.adapters.names import printable
from governance.adapters.weights import File, list_files
from governance.errors import Unreadable
from governance.values import Unknown

_SECONDS: Final = 10.0
_HEAD: Final = 4096
_ELF: Final = b"\x7fELF"
_INTERPRETER: Final = 3  # PT_INTERP of a program header
_LISTED: Final = re.compile(r"^\s*(?:\S+ => )?(/.+?) \(0x[0-9a-f]+\)$")
# How pip and uv write the first lines of a script whose interpreter's path is too long for the kernel.
_WRAPPED: Final = re.compile(rb"^#!/bin/sh\n'''exec' (\"[^\"]+\"|\S+) ")


def find(name: str, *, folder: Path, path: str | None = None) -> Path | None:
    """The program called `name`, absolute; a name with a slash is relative to `folder`, others on `path`."""
    if "/" in name:
        there = folder / name
        return there.absolute() if there.is_file() and os.access(there, os.X_OK) else None
    found = shutil.which(name, path=path)
    return Path(found).absolute() if found else None


def python_of(program: Path) -> Path | Unknown:
    """The Python that runs `program`: itself, or the one its first line names; or why none does."""
    if re.fullmatch(r"(?:python|pypy)[0-9.]*t?", program.name):
        return program
    try:
        with program.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as err:
        return Unknown(f"`{program.name}` cannot be read: {err.strerror}")
    if wrapped := _WRAPPED.match(head):
        return Path(os.fsdecode(wrapped[1].strip(b'"')))
    words = _shebang(head)
    if words and Path(words[0]).name == "env":
        names = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        found = shutil.which(names[0]) if names else None
        words = [found] if found else []
    if words and "python" in Path(words[0]).name:
        return Path(words[0])
    return Unknown(f"`{program.name}` is no Python program")


def _shebang(head: bytes) -> list[str]:
    if not head.startswith(b"#!"):
        return []
    try:
        return shlex.split(os.fsdecode(head[2:].partition(b"\n")[0]))
    except ValueError:
        return []


def linked(program: Path, environment: Mapping[str, str]) -> tuple[File, ...] | Unknown:
    """The program and the libraries that the dynamic loader would map for it, by their real paths, sorted.

    A static program is alone. Unknown for a script, and when a library is missing.
    """
    loader = _loader_of(program)
    if not loader or isinstance(loader, Unknown):
        return loader if isinstance(loader, Unknown) else _files([os.path.realpath(program)])
    try:
        done = subprocess.run(
            [loader, "--list", str(program)],
            env={**environment, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as err:
        return Unknown(f"the dynamic loader does not answer for `{program.name}`: {err}")
    lines = os.fsdecode(done.stdout).splitlines()
    missing = [line.split()[0] for line in lines if line.endswith("=> not found")]
    if missing or done.returncode:
        said = f"`{missing[0]}` is not there" if missing else os.fsdecode(done.stderr).strip()
        return Unknown(f"`{program.name}` cannot be loaded: {said}")
    paths = {os.path.realpath(match[1]) for line in lines if (match := _LISTED.match(line))}
    return _files(sorted({os.path.realpath(program), os.path.realpath(loader), *paths}))


def _files(paths: list[str]) -> tuple[File, ...] | Unknown:
    found: list[File] = []
    for path in paths:
        try:
            (file,) = list_files(Path(path)).files
        except Unreadable as err:
            return Unknown(err.message)
        found.append(File(printable(path), path, file.size, file.state))
    return tuple(found)


def _loader_of(program: Path) -> str | Unknown:
    """The loader that an ELF file names in its program headers; empty for one that brings its libraries."""
    try:
        with program.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as err:
        return Unknown(f"`{program.name}` cannot be read: {err.strerror}")
    if not head.startswith(_ELF):
        return Unknown(f"`{program.name}` is a script: what it starts is known once it runs")
    return _named(head)


def _named(head: bytes) -> str:
    """The text of PT_INTERP; empty when there is none or the headers make no sense."""
    wide, order = head[4] == 2, "<" if head[5] == 1 else ">"
    word, place, sizes, offset = ("Q", 32, 54, 8) if wide else ("I", 28, 42, 4)
    try:
        (table,) = struct.unpack_from(f"{order}{word}", head, place)
        size, count = struct.unpack_from(f"{order}HH", head, sizes)
        for number in range(count):
            at = table + number * size
            if struct.unpack_from(f"{order}I", head, at)[0] == _INTERPRETER:
                (start,) = struct.unpack_from(f"{order}{word}", head, at + offset)
                return os.fsdecode(head[start:].partition(b"\0")[0])
    except (struct.error, IndexError):
        return ""
    return ""
