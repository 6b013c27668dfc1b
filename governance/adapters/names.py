"""Names that come from the operating system, as text that can be written down.

A file name, a folder name or a variable may hold bytes that are no UTF-8; Python carries them as half
characters, which JSON and a terminal refuse. They are shown as `\\xff` instead; different bytes stay
different text.
"""

from __future__ import annotations


def printable(name: str) -> str:
    r"""`name` itself, or with its bytes that are no UTF-8 as `\xff` and its backslashes doubled."""
    if name.isascii():
        return name
    try:
        name.encode()
    except UnicodeEncodeError:
        data = name.replace("\\", "\\\\").encode("utf-8", "surrogateescape")
        return data.decode("utf-8", "backslashreplace")
    return name
