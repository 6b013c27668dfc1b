"""The digest of a wheel's RECORD: what came with the wheel, and nothing an installer or the host added.

- `record_digest` is on the fast path (bench/packages.py): whole-file operations, few per line.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

_INSTALLER_FILES: Final = (
    b".dist-info/INSTALLER,",
    b".dist-info/REQUESTED,",
    b".dist-info/direct_url.json,",
    b".dist-info/uv_cache.json,",
    b".dist-info/uv_build.json,",
)
_SCRIPT_FOLDERS: Final = (b"/bin/", b"/Scripts/")


def record_digest(record: bytes) -> str:
    """The 64-hex SHA-256 of the RECORD lines that came with the wheel, sorted and joined by newlines.

    Left out: lines without a hash (compiled files, RECORD itself), files that installers write, console
    scripts. Line ends do not count: pip writes CRLF and uv LF.
    """
    for name in _INSTALLER_FILES:
        record = _without_line(record, name)
    lines = [line for line in record.splitlines() if line[-2:] != b",,"]
    lines.sort()
    while lines and not lines[0]:
        del lines[0]
    if lines and lines[0][:3] == b"../":
        lines = [line for line in lines if line[:3] != b"../" or not _is_script(line)]
    if b".pyc," in record:
        lines = [line for line in lines if b".pyc," not in line]
    return sha256(b"\n".join(lines)).hexdigest()


def _without_line(record: bytes, name: bytes) -> bytes:
    """`record` without the line for a metadata file that an installer writes.

    Cutting one line out is a tenth of the cost of looking at each.
    """
    at = record.find(name)
    if at < 0:
        return record
    start = record.rfind(b"\n", 0, at) + 1
    end = record.find(b"\n", at)
    if b"/" in record[start:at]:
        return record
    return record[:start] + (b"" if end < 0 else record[end + 1 :])


def _is_script(line: bytes) -> bool:
    path = line.partition(b",")[0]
    return any(folder in path for folder in _SCRIPT_FOLDERS)
