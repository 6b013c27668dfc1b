"""What the two records that move have in common, golden and holds: opened strictly, refused by their path.

- They are exact like the others: bytes that tierlock would not write were edited by somebody.
- They have no digest of their own: everybody may move them, and history is who did.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

from governance.errors import NewerFormat, Unreadable
from governance.review import strict
from governance.values import Json, Tree

_SCHEMA: Final = re.compile(r"([a-z.]+)/([1-9][0-9]{0,5})")


@contextmanager
def refused(path: str, what: str) -> Iterator[None]:
    """A block whose `ValueError` and its like become `Unreadable`, and whose `NewerFormat` names `path`."""
    try:
        yield
    except NewerFormat as err:
        raise NewerFormat(err.message, where=path, hint=err.hint) from err
    except (ValueError, KeyError, TypeError) as err:
        why = f"`{err.args[0]}` is missing" if isinstance(err, KeyError) else str(err)
        raise Unreadable(
            f"`{path}` does not hold whole, unaltered {what}: {why}",
            where=path,
            hint=f"git log -p -- {path}    (who changed it), then: git restore --source=HEAD -- {path}",
        ) from err


def open_record(data: bytes, name: str, version: int, keys: Collection[str]) -> Tree:
    """The JSON object of a record with exactly `keys`. Raises `NewerFormat` or `ValueError`."""
    tree = strict.object_of(strict.json_of(data), "the record")
    schema = tree.get("schema")
    found = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    if found is None or found[1] != name:
        raise ValueError(f"`schema` is not {name}/{version}")
    if int(found[2]) > version:
        raise NewerFormat(
            f"the record has the format {schema}, this tierlock reads up to {name}/{version}",
            hint="upgrade tierlock",
        )
    strict.exactly(tree, set(keys), "the record")
    return tree


def moment(value: Json, key: str) -> str:
    """A time as records write it, checked and left as text."""
    strict.time_of(value, key)
    return strict.text_of(value, key)


def optional(value: Json, key: str) -> str:
    """Text; empty for null, and never written as empty text."""
    if value is None:
        return ""
    text = strict.text_of(value, key)
    if not text:
        raise ValueError(f"`{key}` is empty, where null is meant")
    return text


def hex_of(value: Json, key: str) -> str:
    """64 hex digits."""
    found = strict.digest_of(value, key)
    if found is None:
        raise ValueError(f"`{key}` is not 64 hex digits")
    return found
