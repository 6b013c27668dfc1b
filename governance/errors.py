"""What tierlock raises when it cannot do what was asked: one class per remedy.

- What a command was asked to judge and found bad is a finding (`verdict.py`), never an error.
- What it needs in order to judge and cannot have is an error; it ends in `undecided`, exit 3.
- A wrong command line is an error with exit 2.
- `message` is one lower-case sentence that names the thing in backticks, `where` is `path:line:column`,
  a key path or a URL, `hint` is what to do next, ready to paste where that is possible.
"""

from __future__ import annotations


class TierlockError(Exception):
    """Base of every error a user can act on. Raise a subclass."""

    exit_code = 3

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.message}"


class Usage(TierlockError):
    """The command line or the call is wrong: correct it and call again."""

    exit_code = 2


class Unreadable(TierlockError):
    """An input that is needed for judging cannot be read, or is not what it should be."""


class MissingTool(TierlockError):
    """A program or an optional package is not installed: install it."""


class Unreachable(TierlockError):
    """A server did not answer, or answered with an error: start it, or mend the address."""


class IncompleteHistory(TierlockError):
    """Git history that is needed is not here: fetch more."""


class NewerFormat(TierlockError):
    """A record was written by a newer tierlock: upgrade."""
