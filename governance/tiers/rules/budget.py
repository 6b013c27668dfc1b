"""About how many tokens a text takes, without a tokenizer: an estimate that says that it is one.

- Calibrated on public chat tokenizers (32k to 200k entries): about 4 characters a token for Latin text and
  code, 1.5 tokens a character at worst for Chinese, Japanese and Korean, 2.5 characters a token for other
  scripts.
- `least` is what no common tokenizer goes below: a rule that blocks uses it, one that warns uses `likely`.
"""

from __future__ import annotations

from math import ceil
from typing import Final

_LATIN: Final = 4.0
_LATIN_LEAST: Final = 6.0
_WIDE: Final = 1.1
_WIDE_LEAST: Final = 0.55
_OTHER: Final = 2.5
_OTHER_LEAST: Final = 4.5


def likely(text: str) -> int:
    """The likely number of tokens of `text`."""
    latin, wide, other = _kinds(text)
    return ceil(latin / _LATIN + wide * _WIDE + other / _OTHER)


def least(text: str) -> int:
    """A number of tokens that `text` takes at least with common tokenizers."""
    latin, wide, other = _kinds(text)
    return int(latin / _LATIN_LEAST + wide * _WIDE_LEAST + other / _OTHER_LEAST)


def _kinds(text: str) -> tuple[int, int, int]:
    if text.isascii():
        return len(text), 0, 0
    wide = sum(
        1 for c in text if c >= "\u2e80" and (c <= "\u9fff" or "\uac00" <= c <= "\ud7a3" or c >= "\U00020000")
    )
    latin = sum(1 for c in text if c < "\u0250")
    return latin, wide, len(text) - wide - latin
