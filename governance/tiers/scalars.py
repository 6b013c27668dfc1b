"""What an unquoted YAML scalar means, and which of them YAML 1.1 and 1.2 readers do not read alike.

- A plain scalar is a value only when a YAML 1.1 reader and a YAML 1.2 (core schema) reader agree on it.
- Where they disagree the answer is a `Refusal` with the code, the sentence and the fix.
- `null`, `Null`, `NULL`, `~` and nothing at all are null for both; `true` and `false` have three spellings.
- `0x1F` is 31 for both. Refused: `010`, `0o10`, `0b1`, `1_000`, `12:30`, `1e5`, `-.5`, dates, `yes`, `=`.
- `y` and `n` are text as keys (`n: 1`), and refused as values.
- Numbers are finite doubles, or whole numbers within 2^53 - 1.
- No file, no marks, no findings: text in, value or refusal out.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Final, TypeAlias

from governance.records import dataclass

MAX_INTEGER: Final = 2**53 - 1
_MAX_SHOWN: Final = 60

Scalar: TypeAlias = "bool | int | float | str | None"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a scalar is no value: code of the catalogue, one sentence, what to write."""

    code: str
    message: str
    hint: str


SHARED_WORDS: Final[dict[str, bool | None]] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip

YAML11_BOOLEANS: Final[dict[str, bool]] = {
    word: truth
    for truth, words in ((True, ("y", "yes", "on")), (False, ("n", "no", "off")))
    for base in words
    for word in (base, base.capitalize(), base.upper())
}

# `n` is a decoding parameter of every engine. As a key it stays text: the YAML 1.1 readers in use (libyaml,
# PyYAML, Ruby) read single letters as text, and a tree here has no other keys that it could collide with.
PLAIN_KEYS: Final = frozenset("yYnN")

_NON_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_DECIMAL_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_HEX_INT = re.compile(r"0x[0-9a-fA-F]+")
_SHARED_FLOAT = re.compile(r"[-+]?[0-9]+\.[0-9]*(?:[eE][-+][0-9]+)?|\.[0-9]+(?:[eE][-+][0-9]+)?")
_YAML12_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")
_OCTAL_12 = re.compile(r"0o[0-7]+")
_RADIX_11 = re.compile(r"[-+]?0b[01_]+|[-+]?0x[0-9a-fA-F_]+")
_UNDERSCORE = re.compile(
    r"[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?|[-+]?\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?"
)
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
    r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::?[0-9]{2})?))?"
)
_NUMBER_START = frozenset("0123456789+-.")


def resolve(text: str) -> Scalar | Refusal:
    """The value of the plain scalar `text` that every reader agrees on, or why there is none."""
    if text in SHARED_WORDS:
        return SHARED_WORDS[text]
    if text in YAML11_BOOLEANS:
        truth = "true" if YAML11_BOOLEANS[text] else "false"
        return Refusal(
            "TL004",
            f"`{text}` is read as {truth} by YAML 1.1 and as text by YAML 1.2",
            f'write {truth}, or quote it if text is meant: "{text}"',
        )
    if text in {"=", "<<"}:
        return Refusal("TL004", f"`{text}` has a meaning of its own in YAML 1.1", f'quote it: "{text}"')
    if text[0] not in _NUMBER_START:
        return text
    return _resolve_numeric(text)


def _resolve_numeric(text: str) -> Scalar | Refusal:
    if _DECIMAL_INT.fullmatch(text):
        return _integer(text, 10)
    if _SHARED_FLOAT.fullmatch(text):
        return finite(text)
    if _HEX_INT.fullmatch(text):
        return _integer(text, 16)
    if _NON_FINITE.fullmatch(text):
        return Refusal("TL012", f"`{text}` is not a finite number", "write a number, or leave the key out")
    return _ambiguous(text) or text


def _ambiguous(text: str) -> Refusal | None:
    if len(text) > _MAX_SHOWN:
        return _ambiguous_and_long(text)
    quoted = f'quote it: "{text}"'
    if _LEADING_ZERO.fullmatch(text):
        return _differ(text, *_leading_zero_readings(text), quoted)
    if _OCTAL_12.fullmatch(text):
        return _differ(text, "text", str(int(text, 0)), f"write {int(text, 0)}, or {quoted}")
    if _RADIX_11.fullmatch(text):
        return _differ(text, "a number", "text", f"write it in decimal, or {quoted}")
    if _YAML12_FLOAT.fullmatch(text):
        return _differ(text, "text", "a number", _in_decimal(text) + quoted)
    if "_" in text and _UNDERSCORE.fullmatch(text):
        return _differ(text, "a number", "text", _in_decimal(text.replace("_", "")) + quoted)
    if ":" in text and _SEXAGESIMAL.fullmatch(text):
        return _differ(text, "a number to base 60", "text", quoted)
    if _DATE.fullmatch(text):
        return _differ(text, "a date", "text", quoted)
    return None


def _ambiguous_and_long(text: str) -> Refusal | None:
    """The same question for what is too long to be shown, and too long to be worth an answer in digits."""
    forms = (_LEADING_ZERO, _OCTAL_12, _RADIX_11, _YAML12_FLOAT, _UNDERSCORE, _SEXAGESIMAL, _DATE)
    if not any(form.fullmatch(text) for form in forms):
        return None
    message = f"`{_shortened(text)}` is read as a number by some YAML readers and as text by others"
    return Refusal("TL004", message, "quote it if text is meant, or write a shorter number")


def _differ(text: str, first: str, second: str, hint: str) -> Refusal:
    return Refusal("TL004", f"`{text}` is read as {first} by YAML 1.1 and as {second} by YAML 1.2", hint)


def _leading_zero_readings(text: str) -> tuple[str, str]:
    digits = text.lstrip("+-").lstrip("0") or "0"
    sign = "-" if text[0] == "-" and digits != "0" else ""
    if len(text) > 20:
        return "another number", "a number"
    octal = not digits.strip("01234567")
    return (f"{sign}{int(digits, 8)}" if octal else "text"), f"{sign}{digits}"


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _integer(text: str, base: int) -> int | Refusal:
    if len(text) > 20:
        return _too_big(text)
    number = int(text, base)
    return number if -MAX_INTEGER <= number <= MAX_INTEGER else _too_big(text)


def _too_big(text: str) -> Refusal:
    return Refusal(
        "TL013",
        f"`{_shortened(text)}` is beyond 9007199254740991, where readers begin to round whole numbers",
        "use a smaller number, or quote it if it is an identifier",
    )


def finite(text: str) -> float | Refusal:
    """The double nearest to the decimal `text`, refused where that is infinite or wrongly zero."""
    number = float(text)
    if number - number != 0.0:
        return Refusal("TL012", f"`{_shortened(text)}` is too large for a number", "write a finite number")
    if number == 0.0 and any(digit in "123456789" for digit in re.split("[eE]", text)[0]):
        message = f"`{_shortened(text)}` is so small that it becomes 0"
        return Refusal("TL012", message, "write 0, or a larger number")
    return number


def _in_decimal(text: str) -> str:
    """`write 0.00001, or ` for `1e-5`; empty where that would be unreadably long."""
    try:
        value = Decimal(text)
    except InvalidOperation:  # an exponent of twenty digits
        return ""
    if value.adjusted() not in range(-30, 30):
        return ""
    shown = format(value, "f")
    shown = shown if "." in shown or not re.search("[.eE]", text) else f"{shown}.0"
    return f"write {shown}, or "


def resolve_12(text: str) -> Scalar:
    """What a YAML 1.2 core reader makes of `text`; text itself where that is no finite, exact number."""
    resolved = resolve(text)
    if not isinstance(resolved, Refusal):
        return resolved
    number: Scalar | Refusal = text
    if _LEADING_ZERO.fullmatch(text):
        number = _integer(text, 10)
    elif _OCTAL_12.fullmatch(text):
        number = _integer(text, 0)
    elif _YAML12_FLOAT.fullmatch(text):
        number = _integer(text, 10) if _DECIMAL_INT.fullmatch(text) else finite(text)
    return text if isinstance(number, Refusal) else number
