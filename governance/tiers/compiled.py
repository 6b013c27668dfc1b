"""The compiled schema at run time: a validator per kind and the field table, without importing pydantic.

- pydantic-core's extension module is loaded by itself. Its package would import typing_extensions and the
  definitions of every schema type, measured at 25 to 30 ms, which a commit hook would feel; pydantic more.
- When the extension cannot be loaded alone, the package is imported as usual. Both give the same classes, and
  importing pydantic afterwards finds the extension already there.
- The shipped files are read once per process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

KINDS: Final = ("base", "sampling", "prompts", "services", "few_shot")
_EXTENSION: Final = "pydantic_core._pydantic_core"
_FOLDER: Final = f"{os.path.dirname(__file__)}{os.sep}schemas{os.sep}"  # noqa: PTH120 (pathlib is 4 ms)


@lru_cache(maxsize=1)
def core() -> ModuleType:
    """The module that has `SchemaValidator`, `ValidationError` and `from_json`."""
    already = sys.modules.get("pydantic_core") or sys.modules.get(_EXTENSION)
    return already or _extension_alone() or _whole_package()


@lru_cache(maxsize=len(KINDS))
def validator(kind: str) -> SchemaValidator:
    """The validator of one kind. Its `validate_python` takes and gives plain trees."""
    made: SchemaValidator = core().SchemaValidator(schema(kind))
    return made


def searcher(pattern: str) -> Callable[[str], bool]:
    """Whether an expression is found in a text: Rust's regex, ten times faster than `re` on many words.

    Said of every text with half a character (an undecodable byte), which Rust does not take: look closer.
    """
    found = core().SchemaValidator({"type": "str", "pattern": pattern}).isinstance_python

    def search(text: str) -> bool:
        return found(text) or not (text.isascii() or _is_whole(text))

    return search


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def schema(kind: str) -> dict[str, Any]:
    """The compiled schema of one kind."""
    found: dict[str, Any] = _compiled()[kind]["schema"]
    return found


@lru_cache(maxsize=len(KINDS))
def unordered(kind: str) -> tuple[tuple[str, ...], ...]:
    """Where the lists of one kind lie that are sets; `[]` stands for any item, `*` for any name."""
    return tuple(tuple(path) for path in _compiled()[kind]["unordered"])


@lru_cache(maxsize=1)
def field_tables() -> dict[str, dict[str, dict[str, Any]]]:
    """The field table of every kind."""
    tables: dict[str, dict[str, dict[str, Any]]] = _shipped("fields.json")
    return tables


@lru_cache(maxsize=1)
def _compiled() -> dict[str, Any]:
    kinds: dict[str, Any] = _shipped("compiled.json")["kinds"]
    return kinds


def _shipped(name: str) -> Any:
    parse: Callable[[bytes], Any] = core().from_json
    with open(f"{_FOLDER}{name}", "rb") as file:
        return parse(file.read())


def _extension_alone() -> ModuleType | None:
    package = PathFinder.find_spec("pydantic_core")
    for folder in (package and package.submodule_search_locations) or ():
        for suffix in EXTENSION_SUFFIXES:
            path = f"{folder}{os.sep}_pydantic_core{suffix}"
            if os.access(path, os.R_OK):
                return _load_extension(path)
    return None


def _load_extension(path: str) -> ModuleType | None:
    loader = ExtensionFileLoader(_EXTENSION, path)
    spec = ModuleSpec(_EXTENSION, loader, origin=path)
    try:
        module = loader.create_module(spec)
        module.__spec__, module.__file__, module.__loader__ = spec, path, loader
        sys.modules[_EXTENSION] = module
        loader.exec_module(module)
    except ImportError:
        sys.modules.pop(_EXTENSION, None)
        return None
    return module if hasattr(module, "SchemaValidator") else None


def _whole_package() -> ModuleType:
    import pydantic_core

    return pydantic_core
