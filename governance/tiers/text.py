"""What a reviewer cannot see in a text: invisible, direction-changing, odd and look-alike characters.

- A finding names the character, its code point and its place; the same character is told once per text, with
  the number of further places.
- Direction controls are errors. What a script or an emoji needs (a joiner in a family emoji, full-width
  punctuation, the indent of a Chinese paragraph) is no finding.
- `visible` shows what cannot be seen, reversibly: two texts that differ are never shown alike.
- Pure. A text of plain ASCII costs one scan in C.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from governance.records import dataclass, replace
from governance.tiers import characters as chars
from governance.tiers.faults import Fault, escape, finding_of, position
from governance.values import Json, KeyPath
from governance.verdict import Finding, Severity

if TYPE_CHECKING:
    from governance.tiers.marks import Place
    from governance.tiers.reader import Reading

MAX_FINDINGS: Final = 50
_SHOWN_LETTERS: Final = 40

_WORD = re.compile(r"[^\W\d_]+")
_BIDI = re.compile("[" + "".join(sorted(chars.BIDI)) + "]")


@dataclass(frozen=True, slots=True)
class Spot:
    """One odd thing: the offset of its first character, how many further places, and what to say."""

    code: str
    message: str
    index: int
    hint: str
    severity: Severity = Severity.WARNING
    more: int = 0

    @property
    def sentence(self) -> str:
        if not self.more:
            return self.message
        return f"{self.message}, and {self.more} more in this text"


def scan_text(text: str, path: str, *, line: int = 1, column: int = 1) -> tuple[Finding, ...]:
    """The findings about `text`, which starts at `line` and `column` of the file `path`."""
    findings = []
    for spot in spots(text):
        fault = Fault(spot.code, spot.sentence, spot.index, 1, (), spot.hint, spot.severity)
        found = finding_of(fault, text, path, first_line=line)
        if found.line == line:
            found = replace(found, column=found.column + column - 1)
        findings.append(found)
    return tuple(findings)


def scan_reading(reading: Reading) -> tuple[Finding, ...]:
    """The findings about every text value of `reading`, and about direction controls in its comments."""
    text = reading.text
    if text.isascii() and "\\" not in text and "\t" not in text:
        return ()
    findings = []
    for path, value in _texts(reading.tree, ()):
        for spot in spots(value):
            place = reading.marks.nearest(path)
            start = source_offset(text, place, value, spot.index) if place else 0
            fault = Fault(spot.code, spot.sentence, start, 1, path, spot.hint, spot.severity)
            findings.append(finding_of(fault, text, reading.path, first_line=reading.first_line))
    findings += _in_comments(reading)
    return tuple(findings[:MAX_FINDINGS])


def key_spot(key: str) -> Spot | None:
    """The first thing about a key that nobody can see, or None."""
    if key.isascii() and key.isprintable():
        return None
    spot = next((spot for spot in spots(key) if spot.severity is not Severity.NOTE), None)
    if spot is None or spot.code == "TL404":
        return spot
    return replace(spot, message=f"{chars.name_of(key[spot.index])} in a key")


def spots(text: str) -> tuple[Spot, ...]:
    """Everything odd about `text`, in order of first appearance."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return ()
    found = [*_odd_characters(text), *_look_alikes(text), *_not_normalised(text)]
    return tuple(sorted(found, key=lambda spot: spot.index))[:MAX_FINDINGS]


def _odd_characters(text: str) -> Iterator[Spot]:
    odd = {char for char in set(text) if chars.is_odd(char)}
    if not odd:
        return
    right_to_left = any(chars.is_right_to_left(char) for char in set(text))
    for char in odd:
        first, count = text.find(char), text.count(char)
        if chars.has_a_home(char):
            strays = [
                each.start() for each in re.finditer(char, text) if not chars.at_home(text, each.start())
            ]
            first, count = (strays[0], len(strays)) if strays else (0, 0)
        if count:
            yield replace(_spot(text, first, char, right_to_left), more=count - 1)


def _spot(text: str, index: int, char: str, right_to_left: bool) -> Spot:
    name, where = chars.name_of(char), _where(text, index)
    category = unicodedata.category(char)
    if char in chars.BIDI:
        mild = right_to_left and char in chars.DIRECTION_MARKS
        severity = Severity.WARNING if mild else Severity.ERROR
        return Spot("TL401", f"{name} changes the direction of writing{where}", index, "remove it", severity)
    if char == "\ufeff":
        start = " at the start of the text, offset 0" if index == 0 else where
        return Spot("TL409", f"byte order mark (U+FEFF){start}", index, "remove it", Severity.ERROR)
    if char == "\t":
        return Spot("TL405", f"{name}{where}", index, "use spaces, if the tab is not meant")
    if category == "Cc" or char in "\u2028\u2029":
        mild = char == "\r" and text[index + 1 : index + 2] == "\n"
        severity = Severity.WARNING if mild else Severity.ERROR
        return Spot("TL406", f"{name}{where}", index, "remove it", severity)
    if category == "Zs":
        return Spot("TL403", f"{name}{where}", index, "use an ordinary space")
    if category in {"Co", "Cn", "Cs"}:
        return Spot("TL407", f"{name}{where}", index, "write the character that was meant")
    hidden = 0xE0000 <= ord(char) <= 0xE007F
    severity = Severity.ERROR if hidden else Severity.WARNING
    return Spot("TL402", f"{name}{where}", index, "remove it", severity)


def _where(text: str, index: int) -> str:
    before, after = text[index - 1 : index] if index else "", text[index + 1 : index + 2]
    if before.isalnum() and after.isalnum():
        return " between two words" if text[index].isspace() else " inside a word"
    return " at the end of a line" if after in {"", "\n"} else ""


def _look_alikes(text: str) -> Iterator[Spot]:
    letters = set(text)
    foreign = {char for char in letters if chars.script_of(char)}
    if not foreign or not any(chars.is_latin(char) for char in letters):
        return
    cyrillic = {char for char in foreign if chars.script_of(char) == "Cyrillic" and char.isalpha()}
    disguised = bool(cyrillic) and cyrillic <= chars.LOOK_ALIKE.keys()
    starts: dict[str, list[int]] = {}
    for word in _WORD.finditer(text):
        if not word[0].isascii():
            starts.setdefault(word[0], []).append(word.start())
    for each, at in starts.items():
        odd = _odd_letters(each, disguised)
        if odd:
            message = _look_alike_message(each, odd)
            yield Spot("TL404", message, at[0] + odd[0], "type it again", more=len(at) - 1)


def _odd_letters(word: str, disguised: bool) -> list[int]:
    """The offsets of the letters of `word` that pose as letters of another script."""
    if word.isascii():
        return []
    latin = [i for i, char in enumerate(word) if chars.is_latin(char)]
    other = [i for i, char in enumerate(word) if chars.script_of(char)]
    if not other:
        return []
    if not latin:
        return other if disguised and all(word[i] in chars.LOOK_ALIKE for i in other) else []
    if len(latin) >= len(other):
        return other if all(word[i] in chars.LOOK_ALIKE for i in other) else []
    return latin if all(word[i] in chars.LOOK_ALIKE_LATIN for i in latin) else []


def _look_alike_message(word: str, odd: list[int]) -> str:
    first, letters = odd[0], set(odd[:_SHOWN_LETTERS])
    char = word[first]
    start, end = max(0, first - _SHOWN_LETTERS // 2), first + _SHOWN_LETTERS // 2
    shown = "".join(escape(c) if i in letters else c for i, c in enumerate(word[start:end], start))
    shown = f"{'…' if start else ''}{shown}{'…' if end < len(word) else ''}"
    if chars.is_latin(char):
        script = next(name for c in word if (name := chars.script_of(c)))
        return f"{chars.name_of(char)} inside the {script} word `{shown}`"
    return f"{chars.name_of(char)} looks like `{chars.LOOK_ALIKE[char]}` in the word `{shown}`"


def _not_normalised(text: str) -> Iterator[Spot]:
    if unicodedata.is_normalized("NFC", text):
        return
    ends = [end for _, end in _unnormalised_runs(text)]
    if ends:
        name = chars.name_of(text[ends[0] - 1])
        message = f"{name} where one character exists; the text is not in form NFC"
        hint = "convert it to NFC, if not meant"
        yield Spot("TL408", message, ends[0] - 1, hint, Severity.NOTE, len(ends) - 1)


def _unnormalised_runs(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each base character with its marks that NFC would write otherwise."""
    start = 0
    for index in range(1, len(text) + 1):
        if index == len(text) or (unicodedata.combining(text[index]) == 0 and not _composes(text, index)):
            if not unicodedata.is_normalized("NFC", text[start:index]):
                yield start, index
            start = index


def _composes(text: str, index: int) -> bool:
    """Whether the starter at `index` joins the one before it (Hangul, a few Indic vowels)."""
    pair = text[index - 1 : index + 1]
    return not pair.isascii() and len(unicodedata.normalize("NFC", pair)) == 1


# -- making the unseen seen


def visible(text: str) -> str:
    """`text` with everything shown that could not be seen; `from_visible` gives it back.

    Odd characters, look-alike letters and stray combining marks become escapes (`\\u200b`, `\\t`), blanks at
    line ends become `␠`, and newlines at the very end become `\\n`, so a missing one shows by its absence.
    A backslash is doubled only where it could be taken for such an escape.
    """
    shown = _escapes(text)
    body = text.rstrip("\n")
    if not shown and body == text and "\\" not in text and " \n" not in text and not text.endswith(" "):
        return text
    for found in re.finditer(r"(?<! ) ++(?=\n|\Z)", text):
        shown.update(dict.fromkeys(range(found.start(), found.end()), "␠"))
    shown.update(dict.fromkeys(range(len(body), len(text)), "\\n"))
    return _assemble(text, shown)


def from_visible(shown: str) -> str:
    """The text that `visible` showed as `shown`."""
    return _SHOWN.sub(_unescape, shown)


def visible_pair(before: str, after: str) -> tuple[str, str]:
    """Both texts made visible; where they would still look alike, every character beyond ASCII is escaped."""
    left, right = visible(before), visible(after)
    if before == after or _skeleton(left) != _skeleton(right):
        return left, right
    return _all_escaped(left), _all_escaped(right)


_SHOWN = re.compile(r"\\(?:([\\tnr])|x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))|␠")
_MEANS: Final = {"\\": "\\", "t": "\t", "n": "\n", "r": "\r"}


def _escapes(text: str) -> dict[int, str]:
    """What to show, by offset, for the characters that must not be shown as themselves."""
    if text.isascii():
        if text.replace("\n", "").isprintable():
            return {}
        return {i: escape(c) for i, c in enumerate(text) if c != "\n" and not c.isprintable()}
    odd = {
        i: escape(c) for i, c in enumerate(text) if c == "␠" or (chars.is_odd(c) and not _shown_well(text, i))
    }
    letters = set(text)
    if any(chars.script_of(c) for c in letters):
        for word in _WORD.finditer(text):
            odd.update({word.start() + i: escape(word[0][i]) for i in _odd_letters(word[0], disguised=True)})
    if not unicodedata.is_normalized("NFC", text):
        for start, end in _unnormalised_runs(text):
            first = start + 1 if end - start > 1 else start
            odd.update({i: escape(text[i]) for i in range(first, end)})
    return odd


def _shown_well(text: str, index: int) -> bool:
    return text[index] != "\u3000" and chars.at_home(text, index)


def _assemble(text: str, shown: dict[int, str]) -> str:
    """`text` with the replacements, from the end, so that a backslash knows what follows it."""
    if "\\" in text:
        shown.update({found.start(): "\\" for found in re.finditer(r"\\", text)})
    parts: list[str] = []
    end = len(text)
    for index in sorted(shown, reverse=True):
        parts.append(text[index + 1 : end])
        following = parts[-1][:1] or (parts[-2][:1] if len(parts) > 1 else "")
        literal = text[index] == "\\" and following and following in "\\tnrxuU"
        parts.append("\\\\" if literal else shown[index])
        end = index
    parts.append(text[:end])
    return "".join(reversed(parts))


def _unescape(found: re.Match[str]) -> str:
    if found[0] == "␠":
        return " "
    if found[1]:
        return _MEANS[found[1]]
    return chr(int(found[2] or found[3] or found[4], 16))


def _skeleton(text: str) -> str:
    """What `text` looks like. Letter by letter: normalising a long run of marks takes quadratic time."""
    looks: dict[int, str] = {}
    for char in set(text):
        folded = "" if chars.is_odd(char) else unicodedata.normalize("NFKC", char)
        looks[ord(char)] = "".join(chars.LOOK_ALIKE.get(c, c) for c in folded)
    return text.translate(looks)


def _all_escaped(shown: str) -> str:
    return "".join(c if c.isascii() or c == "␠" else escape(c) for c in shown)


# -- where a character of a value stands in its file


def source_offset(text: str, place: Place, value: str, index: int) -> int:
    """The offset in `text` of the character at `index` of `value`, whose scalar stands at `place`."""
    span = text[place.start : place.end]
    if place.style == '"' and "\\" in span:
        return place.start + _quoted_offset(span, index)
    char = value[index]
    offset = -1
    for _ in range(value.count(char, 0, index) + 1):
        offset = span.find(char, offset + 1)
    return place.start + max(offset, 0)


def _quoted_offset(span: str, index: int) -> int:
    """The offset of the `index`-th character of a double-quoted scalar, escapes counted as one."""
    offset, produced = 1, 0
    while offset < len(span):
        step = 1
        if span[offset] == "\\":
            step = {"x": 4, "u": 6, "U": 10}.get(span[offset + 1 : offset + 2], 2)
        if produced >= index:
            break
        produced += 1
        offset += step
    return offset


def _texts(tree: Json, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(tree, str):
        yield path, tree
    elif isinstance(tree, dict):
        for key, value in tree.items():
            yield from _texts(value, (*path, key))
    elif isinstance(tree, list):
        for number, value in enumerate(tree):
            yield from _texts(value, (*path, number))


def _in_comments(reading: Reading) -> Iterator[Finding]:
    """Direction controls outside every key and value: they make a reviewer read another file."""
    found = list(_BIDI.finditer(reading.text))
    if not found:
        return
    places = [*reading.marks.places.values.values(), *reading.marks.places.keys.values()]
    spans = [(place.start, place.end) for place in places if place.style not in {"[", "{"}]
    for match in found:
        if not any(start <= match.start() < end for start, end in spans):
            line, column = position(reading.text, match.start())
            name = chars.name_of(match[0])
            yield Finding(
                "TL401",
                f"{name} changes the direction of writing in a comment",
                path=reading.path,
                line=line + reading.first_line - 1,
                column=column,
                hint="remove it",
            )
