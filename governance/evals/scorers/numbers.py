"""The numbers in a text, as people and models write them: grouped digits, fractions, powers of ten, scales.

- `1,234.5`, `1'234.5` and `1_234.5` are one number; with a decimal comma so are `1.234,5` and `1 234,5`.
- `3/4`, `2 1/2`, `½`, `1.2e5`, `1.2 × 10^5` and `1.2 million` are what they say.
- A minus is `-`, `−` or `–` right before the digits; between two digits it is a range or a date.
- A number inside a word (`b12`, `Q4_1`) is none.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final, NamedTuple

_VULGAR: Final = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅛": "1/8"}
_SCALES: Final = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_NARROW: Final = "\u00a0\u2009\u202f"
_GROUPED: Final = {".": rf"[,{_NARROW}'’_]", ",": rf"[. {_NARROW}'’_]"}
_POWER: Final = r"\s?(?:x|×|·|\*|\\times|\\cdot)\s?10(?:\^|\*\*)\{?(?P<power>[-−+]?\d{1,3})\}?"
_LATEX: Final = (
    (re.compile(r"\\[dt]?frac\s?\{\s?(\d+)\s?\}\s?\{\s?(\d+)\s?\}"), r"\1/\2"),
    (re.compile(r"(?<=\d)\{,\}(?=\d)"), ","),
    (re.compile(r"\\([$%])"), r"\1"),
    (re.compile(r"(?<=\d)\\[,!;](?=\d)"), ""),
    (re.compile(r"\\(?:text|mathrm|mbox)\{([^{}]*)\}"), r" \1"),
)


def _form(point: str) -> re.Pattern[str]:
    group, sign = _GROUPED[point], re.escape(point)
    return re.compile(
        rf"(?<![\w/{sign}])(?P<sign>[-−–+]?[$€£¥]?[-−–]?)"
        rf"(?:(?P<whole>\d{{1,3}}(?:{group}\d{{3}})+(?!\d)|\d+)(?:{sign}(?P<part>\d+))?|{sign}(?P<bare>\d+))"
        rf"(?:[eE](?P<exponent>[-+]?\d{{1,3}})(?!\w)|{_POWER})?"
        r"(?:\s?/\s?(?P<under>\d+)(?![\d/])|\s(?P<upper>\d+)/(?P<lower>\d+)(?![\d/]))?"
        r"(?P<scales>(?:[\s-](?:hundred|thousand|million|billion|trillion)s?\b)*)",
        re.IGNORECASE,
    )


_FORMS: Final = {point: _form(point) for point in _GROUPED}


class Number(NamedTuple):
    """One number of a text: its value, and where it starts and ends."""

    value: float
    start: int
    end: int


def tidy(text: str) -> str:
    """`text` with LaTeX and one-letter fractions written plainly, ready for `numbers`."""
    for form, plain in _LATEX:
        text = form.sub(plain, text)
    for sign, written in _VULGAR.items():
        text = re.sub(rf"(?<=\d)\s?{sign}", f" {written}", text).replace(sign, written)
    return text


def numbers(text: str, *, point: str = ".") -> list[Number]:
    """The numbers of `text` in their order; `point` is the decimal sign, `.` or `,`."""
    found = []
    for match in _FORMS[point].finditer(text):
        value = _value(match)
        if value is not None:
            found.append(Number(value, match.start(), match.end()))
    return found


def _value(match: re.Match[str]) -> float | None:
    """The number that was matched; None when it has no finite value."""
    whole = re.sub(r"\D", "", match["whole"] or "0")
    value = Decimal(f"{whole}.{match['part'] or match['bare'] or '0'}")
    value = value.scaleb(int((match["exponent"] or match["power"] or "0").replace("−", "-")))
    for word in re.findall(r"[a-z]+", match["scales"].lower()):
        value = value.scaleb(_SCALES[word.removesuffix("s")])
    lower = match["under"] or match["lower"]
    if lower is not None and not int(lower):
        return None
    if match["under"]:
        value /= int(match["under"])
    elif match["lower"]:
        value += Decimal(int(match["upper"])) / int(match["lower"])
    negative = any(sign in match["sign"] for sign in "-−–")
    result = float(-value if negative else value)
    return result if result - result == 0 else None
