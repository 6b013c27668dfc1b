"""The YAML text of a tree, in the strict subset the reader takes: for imports, scaffolds, pinned values.

- Reading the text gives the tree back (`read_yaml(dump(tree)).tree == tree`), and its scalars mean the same
  to YAML 1.1 and 1.2 readers: whatever could be misread is quoted.
- Text with line breaks becomes a literal block where a block can hold it byte for byte, else a quoted scalar.
- Key order is the caller's: people read a file in the order it was meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from governance.values import Json, Tree

_PLAIN: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_./+-]*(?:[ ][A-Za-z0-9_./+-]+)*\Z")
# Words that some reader takes for a boolean, a null or a number.
_MISREAD: Final = frozenset(
    ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity")
)


def dump(tree: Tree, *, comments: Mapping[str, str] | None = None) -> str:
    """`tree` as block-style YAML with one final newline; `comments` maps a top-level key to a line above."""
    lines: list[str] = []
    for key, value in tree.items():
        if comments and key in comments:
            lines.append(f"# {comments[key]}")
        _entry(lines, _key(key) + ":", value, 0)
    return "\n".join(lines) + "\n"


def _entry(lines: list[str], head: str, value: Json, depth: int) -> None:
    pad = "  " * depth
    if isinstance(value, Mapping) and value:
        lines.append(pad + head)
        for key, item in value.items():
            _entry(lines, _key(key) + ":", item, depth + 1)
    elif isinstance(value, Sequence) and not isinstance(value, str) and any(map(_is_nested, value)):
        lines.append(pad + head)
        for item in value:
            _item(lines, item, depth + 1)
    elif isinstance(value, str) and _fits_block(value):
        lines.append(f"{pad}{head} |{_chomping(value)}")
        body = value.removesuffix("\n")
        lines.extend(f"{pad}  {line}" if line else "" for line in body.split("\n"))
    else:
        lines.append(f"{pad}{head} {scalar(value)}")


def _item(lines: list[str], item: Json, depth: int) -> None:
    """One sequence entry; a mapping starts on the line of its dash."""
    if isinstance(item, Mapping) and item:
        inner: list[str] = []
        for key, value in item.items():
            _entry(inner, _key(key) + ":", value, depth + 1)
        inner[0] = "  " * depth + "- " + inner[0].lstrip(" ")
        lines.extend(inner)
    else:
        lines.append("  " * depth + "- " + scalar(item))


def scalar(value: Json) -> str:
    """`value` on one line: plain where every reader agrees, quoted otherwise; collections in flow style."""
    if isinstance(value, str):
        safe = _PLAIN.match(value) and value.lower() not in _MISREAD
        return value if safe else _quoted(value)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)}: {scalar(v)}" for k, v in value.items()) + "}"
    return "[" + ", ".join(scalar(item) for item in value) + "]"


def _quoted(value: str) -> str:
    """`value` in double quotes; what cannot be seen, or would be interpolated, is written as an escape."""
    text = json.dumps(value, ensure_ascii=False).replace("${", "\\x24{")
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    code = ord(character)
    if character.isprintable():
        return character
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _key(key: str) -> str:
    return scalar(key)


def _float(value: float) -> str:
    """Digits that YAML 1.1 and 1.2 both read as this number: exponents get a point and a sign."""
    text = repr(value)
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        mantissa = mantissa if "." in mantissa else mantissa + ".0"
        return f"{mantissa}e{exponent if exponent[0] in '+-' else '+' + exponent}"
    return text


def _is_nested(item: Json) -> bool:
    return isinstance(item, Mapping) or (isinstance(item, Sequence) and not isinstance(item, str))


def _fits_block(value: str) -> bool:
    """Whether a literal block holds `value` byte for byte: printable lines, no leading or trailing blanks."""
    if "\n" not in value or value.endswith("\n\n") or value[0] in " \n":
        return False
    return all(line.isprintable() and not line.endswith(" ") for line in value.split("\n"))


def _chomping(value: str) -> str:
    return "" if value.endswith("\n") else "-"
