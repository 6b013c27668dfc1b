"""The environment of this process: what a started program inherits, and what a reference to a secret means.

- `env:NAME` is a reference to the variable NAME of whoever runs the command. It is looked up when a program
  is started, handed to that program, and kept nowhere.
- A reference to a variable that is not set is refused by name, before anything is started.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final

from governance.errors import Usage

REFERENCE: Final = "env:"


def resolved(variables: Mapping[str, str], environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """`variables` with every reference replaced by its value. Raises `Usage` naming what is not set."""
    have = os.environ if environ is None else environ
    missing = sorted(name.removeprefix(REFERENCE) for name in variables.values() if _is_missing(name, have))
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise Usage(f"the environment has no {names}", hint=f"export {missing[0]}=… and call again")
    return {
        name: have[value.removeprefix(REFERENCE)] if value.startswith(REFERENCE) else value
        for name, value in variables.items()
    }


def references(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that hold a reference, each with the name it refers to."""
    return {
        name: value.removeprefix(REFERENCE)
        for name, value in variables.items()
        if value.startswith(REFERENCE)
    }


def inherited(keep: Callable[[str], bool], environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of this process whose names `keep` accepts."""
    have = os.environ if environ is None else environ
    return {name: value for name, value in have.items() if keep(name)}


def _is_missing(value: str, have: Mapping[str, str]) -> bool:
    return value.startswith(REFERENCE) and value.removeprefix(REFERENCE) not in have
