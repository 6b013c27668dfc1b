"""The fast path: the subset of YAML that people write in tier files, read line by line.

- It accepts only what it is sure of: block mappings and sequences, plain and quoted scalars on one line,
  literal and folded text, flow collections on one line, comments. For all else it answers None, and the
  exact path reads.
- What it accepts, the exact path accepts with the same tree and no finding (a law in the tests).
- A line means the same wherever it stands, but for block text; so what a line means is remembered.
- No marks, no findings, no imports beyond `re`: a good file costs no more than this.
"""

from __future__ import annotations

import re
from typing import Any, Final

from governance.tiers.scalars import PLAIN_KEYS, SHARED_WORDS, YAML11_BOOLEANS
from governance.values import Json

MAX_TEXT: Final = 200_000  # so few characters cannot hold more values than the exact path reads
MAX_REMEMBERED: Final = 20_000
_MAX_LINE: Final = 60
_MAX_STACK: Final = 30
_MAX_FLOW: Final = 8

# what a line is: with a key; the first key of a mapping in a sequence (+ _ITEM); a value in a sequence
_BLANK, _SCALAR, _FLOW, _OPEN, _TEXT = range(5)
_ITEM: Final = 8
_ELEMENT: Final = 16
_ELEMENT_FLOW: Final = _ELEMENT + 1
_START: Final = 32

_Line = tuple[int, int, str, Any]


class _Unsure(Exception):
    """The exact path must read this text."""


_UNSURE: Final = object()
_WORDS: Final[dict[str, object]] = {**SHARED_WORDS, **dict.fromkeys([*YAML11_BOOLEANS, "<<"], _UNSURE)}

_NO_KEYS: Final = _WORDS.keys() - PLAIN_KEYS

_KEY = r"[A-Za-z_][A-Za-z0-9_./+@-]{0,999}"  # YAML has no key of more than 1024 characters on one line
_QUOTED_KEY = r'"([A-Za-z0-9_./+@ -]{0,999})"'
_key_line = re.compile(rf"( *)(- )?(?:({_KEY})|{_QUOTED_KEY}):(?: +(.*))?").fullmatch
# a token's number and its bias, a file's name and its size: many in one file, none twice
_counted_line = re.compile(rf"( *){_QUOTED_KEY}: (-?(?:0|[1-9][0-9]{{0,14}}))(\.[0-9]{{1,17}})?").fullmatch
_item_line = re.compile(r"( *)- ([^ ].*)").fullmatch
_blank_line = re.compile(r" *(?:#.*)?").fullmatch
_number = re.compile(r"(-?(?:0|[1-9][0-9]{0,14}))(\.[0-9]{1,17})?").fullmatch
_digits_then_text = re.compile(
    r"[0-9]+[ACDF-NP-WYZacdf-np-wyz].*|[0-9][0-9be]*[acdf][0-9a-f]*|[0-9]+\.[0-9]+\.[0-9A-Za-z.+-]*"
).fullmatch
_double_quoted = re.compile(r'"([^"\\]*+(?:\\[nt"\\/r][^"\\]*+)*+)"(?: *| +#.*)').fullmatch
_single_quoted = re.compile(r"'([^']*+(?:''[^']*+)*+)'(?: *| +#.*)").fullmatch
_text_header = re.compile(r"([|>])([1-9]?)([+-]?)([1-9]?)(?: *| +#.*)").fullmatch
_escape = re.compile(r"\\(.)").sub
_raw = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]").search
_flow_token = re.compile(
    r' *(?:"([^"\\]*+(?:\\[nt"\\/r][^"\\]*+)*+)"'
    r"|'([^']*+(?:''[^']*+)*+)'"
    r"|((?:[^\x00-\x2d:;=-@\[-^`{-\xa0]|-(?=[0-9]))"  # letters, digits, _ / < . and all above U+00A0
    r"(?:[^,\[\]{}:#\"'\\&*!|>%`?$ ]|:(?=[A-Za-z0-9/])| +(?=[A-Za-z0-9_]))*+)"
    r"|([\[{]))"
).match
_flow_key = re.compile(rf" *(?:({_KEY})|{_QUOTED_KEY}): +").match
_flow_next = re.compile(r" *([,\]}])").match
_flow_close = re.compile(r" *([\]}])").match
_flow_rest = re.compile(r" *| +#.*").fullmatch
_ESCAPED: Final = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/", "r": "\r"}
_NUMBER_START: Final = "-0123456789"
_NOTHING: Final[_Line] = (_BLANK, 0, "", None)
_remembered: dict[str, _Line] = {"": _NOTHING}


def parse(text: str) -> dict[str, Json] | None:
    """The mapping that `text` surely is, or None when the exact path must read it."""
    if len(text) > MAX_TEXT:
        return None
    try:
        return _parse(text.split("\n"))
    except _Unsure:
        return None


def forget() -> None:
    """Empty the memory of lines; what is read afterwards is read as by a new process."""
    _remembered.clear()
    _remembered[""] = _NOTHING


def _parse(lines: list[str]) -> dict[str, Json]:
    """One pass over the lines; `box` is the innermost open collection, `indent` its column."""
    recall = _remembered.get
    root: dict[str, Any] = {}
    box: Any = root
    is_mapping = True
    indent = 0
    stack: list[tuple[int, Any]] = []
    waiting: str | None = None  # the key whose value may follow on the next lines
    started = False  # by `---`
    skip = 0
    for number, line in enumerate(lines):
        if number < skip:
            continue
        kind, at, key, value = recall(line) or _learn(line)
        if kind == _SCALAR and at == indent and is_mapping:  # most lines
            if key in box:
                raise _Unsure
            box[key] = value
            waiting = None
            continue
        if kind == _BLANK:
            continue
        if kind >= _ITEM:
            if kind == _START:
                if started or root:
                    raise _Unsure
                started = True
                continue
            dash = at - 2 if kind < _ELEMENT else at
            if waiting is not None:
                if dash >= indent:
                    stack.append((indent, box))
                    box[waiting] = box = []
                    indent = dash
                    is_mapping = False
                waiting = None
            while indent > dash and stack:
                indent, box = stack.pop()
                is_mapping = type(box) is dict
            if indent != dash or is_mapping:
                raise _Unsure
            if kind >= _ELEMENT:
                if kind == _ELEMENT:
                    box.append(value)
                elif kind == _ELEMENT_FLOW:
                    box.append(value.copy())
                else:
                    text, skip = _block_text(lines, number + 1, indent, value)
                    box.append(text)
                continue
            item: dict[str, Any] = {}
            box.append(item)
            stack.append((indent, box))
            if len(stack) > _MAX_STACK:
                raise _Unsure
            box, indent, is_mapping = item, at, True
            kind -= _ITEM
        elif waiting is not None:
            if at > indent:
                stack.append((indent, box))
                if len(stack) > _MAX_STACK:
                    raise _Unsure
                item = {}
                box[waiting] = item
                box, indent = item, at
            waiting = None
        if at != indent or not is_mapping:
            while indent > at and stack:
                indent, box = stack.pop()
            if type(box) is list and indent == at and stack:
                indent, box = stack.pop()
            is_mapping = type(box) is dict
            if at != indent or not is_mapping:
                raise _Unsure
        if key in box:
            raise _Unsure
        if kind == _SCALAR:
            box[key] = value
        elif kind == _OPEN:
            box[key] = None
            waiting = key
        elif kind == _FLOW:
            box[key] = value.copy()
        else:
            box[key], skip = _block_text(lines, number + 1, indent, value)
    if not root:
        raise _Unsure
    return root


def _learn(line: str) -> _Line:
    """What `line` means; remembered, if it is likely to come again."""
    if found := _counted_line(line):
        spaces, key, digits, fraction = found.groups()
        return (_SCALAR, len(spaces), key, float(digits + fraction) if fraction else int(digits))
    if not line.isprintable():
        raise _Unsure
    found = _key_line(line)
    if found is None:
        return _learn_keyless(line)
    spaces, dash, key, quoted, rest = found.groups()
    if rest and rest[0] in _NUMBER_START and (number := _number(rest)):
        kind, value = _SCALAR, float(rest) if number[2] else int(rest)
    else:
        kind, value = _value(rest)
    if dash:
        kind += _ITEM
        spaces += "  "
    if key is None:  # quoted keys are names of files or numbers of tokens: seldom twice
        return (kind, len(spaces), quoted, value)
    if key in _NO_KEYS:
        raise _Unsure
    return _remember(line, (kind, len(spaces), key, value))


def _learn_keyless(line: str) -> _Line:
    if _blank_line(line):
        return _NOTHING
    if line == "---":
        return (_START, 0, "", None)
    found = _item_line(line)
    if found is None:
        raise _Unsure
    kind, value = _value(found[2])
    if kind == _OPEN:
        raise _Unsure
    return _remember(line, (kind - _SCALAR + _ELEMENT, len(found[1]), "", value))


def _remember(line: str, learned: _Line) -> _Line:
    """Keep what a short line means. Not where a shallow copy of its value would share a collection."""
    if len(line) <= _MAX_LINE:
        value = learned[3]
        within = value.values() if type(value) is dict else value if type(value) is list else ()
        if not any(type(each) in (dict, list) for each in within):
            if len(_remembered) >= MAX_REMEMBERED:
                forget()
            _remembered[line] = learned
    return learned


def _value(rest: str | None) -> tuple[int, Any]:
    """What stands after `key: ` or `- `: its kind and its value."""
    if not rest:
        return _OPEN, None
    first = rest[0]
    if first == '"':
        return _SCALAR, _double(_double_quoted(rest))
    if first == "'":
        quoted = _single_quoted(rest)
        return _SCALAR, _single(quoted and quoted[1])
    if first in "[{":
        value, end = _flow(rest, 0, 0)
        if not _flow_rest(rest, end):
            raise _Unsure
        return _FLOW, value
    if first in "|>":
        header = _text_header(rest)
        if header is None or (header[2] and header[4]):
            raise _Unsure
        return _TEXT, (header[1], header[3], header[2] or header[4])
    if first == "#":
        return _OPEN, None
    if " #" in rest:
        rest = rest[: rest.index(" #")]
    return _SCALAR, _plain(rest.rstrip(" "))


def _double(found: re.Match[str] | None) -> str:
    if found is None:
        raise _Unsure
    text = found[1]
    if "${" in text:
        raise _Unsure
    return _escape(lambda m: _ESCAPED[m[1]], text) if "\\" in text else text


def _single(text: str | None) -> str:
    if text is None or "${" in text:
        raise _Unsure
    return text.replace("''", "'")


def _plain(text: str) -> Any:
    """The value of an unquoted scalar."""
    first = text[0]
    if first in "0123456789-":
        number = _number(text)
        if number is not None:
            return float(text) if number[2] else int(text)
        if not _digits_then_text(text):
            raise _Unsure
    elif not (first.isalpha() or first in "_/" or (first == "<" and text != "<<")):
        raise _Unsure
    if ": " in text or text[-1] == ":" or "${" in text:
        raise _Unsure
    value = _WORDS.get(text, text)
    if value is _UNSURE:
        raise _Unsure
    return value


def _flow(text: str, at: int, depth: int) -> tuple[Any, int]:
    """The flow collection that opens at `at`, and the offset after it."""
    if depth > _MAX_FLOW:
        raise _Unsure
    mapping: dict[str, Any] | None = {} if text[at] == "{" else None
    items: list[Any] = []
    at += 1
    closing = "]" if mapping is None else "}"
    while True:
        closed = _flow_close(text, at)
        if closed:
            break
        key = ""
        if mapping is not None:
            found = _flow_key(text, at)
            if found is None or found[1] in _NO_KEYS:
                raise _Unsure
            key, at = found[1] or found[2] or "", found.end()
            if key in mapping:
                raise _Unsure
        value, at = _flow_value(text, at, depth)
        if mapping is None:
            items.append(value)
        else:
            mapping[key] = value
        closed = _flow_next(text, at)
        if closed is None:
            raise _Unsure
        if closed[1] != ",":
            break
        at = closed.end()
    if closed[1] != closing:
        raise _Unsure
    return (items if mapping is None else mapping), closed.end()


def _flow_value(text: str, at: int, depth: int) -> tuple[Any, int]:
    found = _flow_token(text, at)
    if found is None:
        raise _Unsure
    which = found.lastindex
    if which == 3:
        return _plain(found[3]), found.end()
    if which == 1:
        return _double(found), found.end()
    if which == 2:
        return _single(found[2]), found.end()
    return _flow(text, found.start(4), depth + 1)


def _block_text(lines: list[str], first: int, parent: int, header: tuple[str, str, str]) -> tuple[str, int]:
    """The text of a `|` or `>` scalar whose lines begin at `first`, and the number of the line after it."""
    style, chomp, explicit = header
    last = len(lines)
    start = first
    while start < last and not lines[start].strip(" "):
        start += 1
    if start == last:
        raise _Unsure
    line = lines[start]
    indent = parent + int(explicit) if explicit else len(line) - len(line.lstrip(" "))
    pad = " " * indent
    if indent <= parent or not line.startswith(pad) or any(lines[first:start]):
        raise _Unsure
    body = []
    end = first
    for end in range(first, last):
        line = lines[end]
        if line.startswith(pad):
            body.append(line[indent:])
        elif line.strip(" "):
            break
        else:
            body.append("")
    else:
        if lines[-1]:
            raise _Unsure  # no line end at the end of the file
        body.pop()
        end = last
    kept = len(body)
    while not body[kept - 1]:
        kept -= 1
    text = "\n".join(body[:kept]) if style == "|" else _folded(body[:kept])
    if not text.replace("\n", "").isprintable() and _raw(text):
        raise _Unsure
    if chomp == "+":
        text += "\n" * (len(body) - kept + 1)
    elif not chomp:
        text += "\n"
    return text, end


def _folded(lines: list[str]) -> str:
    """The lines joined as `>` says; only where no line is indented further or blank at the start."""
    parts: list[str] = []
    blanks = -1
    for line in lines:
        if not line:
            blanks += 1
            continue
        if line[0] in " \t" or (blanks >= 0 and not parts):
            raise _Unsure
        if parts:
            parts.append("\n" * (blanks + 1) if blanks >= 0 else " ")
        parts.append(line)
        blanks = -1
    return "".join(parts)
