"""The forms text can be asked to have: each a regular expression and its words.

- The expressions mean the same in Rust, Python and JavaScript: the compiled schema, the messages and editors
  read them.
- Lengths are bounded beside the expression: a counted repeat is slow to compile.
- The words complete the sentence "must be …".
"""

from __future__ import annotations

from typing import Final

from governance.records import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """What a text must look like."""

    pattern: str
    words: str


_NOT_IN_NAMES: Final = r":-@\[-^`{-\xa0\u2000-\u206f\u3000"

LINE = Form(r"^[^\x00-\x1f\x7f]+$", "one line of text")
WORD = Form(r"^[A-Za-z0-9][A-Za-z0-9._+:/-]*$", "one word of letters, digits and `. _ + : / -`")
NAME = Form(
    rf"^[^\x00-/{_NOT_IN_NAMES}][^\x00-,/{_NOT_IN_NAMES}]*$",
    "a name of letters, digits and `. _ -`, not beginning with `.` or `-`",
)
IDENTIFIER = Form(
    r"^[A-Za-z_][A-Za-z0-9_]*$", "a name of letters, digits and `_`, not beginning with a digit"
)
DIGEST = Form(
    r"^(sha256|blake3):[0-9a-f]{64}$", "a digest: `sha256:` or `blake3:` and 64 lower-case hex digits"
)
DATE = Form(r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$", "a date as `2026-11-30`")
VERSION = Form(r"^[A-Za-z0-9][A-Za-z0-9._+!-]*$", "a version of letters, digits and `. _ + ! -`")
VERSION_RANGE = Form(
    r"^(==|>=|<=|>|<|!=|~=) ?[0-9][0-9A-Za-z.*]*(, ?(==|>=|<=|>|<|!=|~=) ?[0-9][0-9A-Za-z.*]*)*$",
    "a version range as `>=12.4,<13`",
)
VARIABLE = Form(r"^[A-Za-z_][A-Za-z0-9_]*$", "the name of a variable: letters, digits and `_`")
SECRET = Form(
    r"^env:[A-Za-z_][A-Za-z0-9_]*$", "a reference to a variable as `env:API_KEY`, not the secret itself"
)
OPTION = Form(r"^[A-Za-z][A-Za-z0-9._-]*$", "the name of an option without its leading dashes")
CAPABILITY = Form(r"^[0-9]{1,2}\.[0-9][a-z]?$", "a compute capability as `8.9`")
PUBLIC_KEY = Form(
    r"^(sk-)?(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521))(@openssh\.com)?"
    r" [A-Za-z0-9+/]+=*( [^\x00-\x1f]*)?$",
    "an SSH public key as one line of a `.pub` file",
)
TOKEN_KEY = Form(r"^[0-9]{1,10}$", "a token id in digits")
URL = Form(r"^https?://[^\s/?#@]+(/[^\s?#]*)?$", "an http or https address without user name and query")
RULE = Form(r"^TL[0-9]{3}$", "a rule code as `TL301`")
CONFIG = Form(r"^(base|sampling|prompts|service)/[^\s/\\]+$", "a config as `sampling/factual`")

FORMS: Final = {
    form.pattern: form.words
    for form in (
        LINE, WORD, NAME, IDENTIFIER, DIGEST, DATE, VERSION, VERSION_RANGE, VARIABLE, SECRET, OPTION,
        CAPABILITY, PUBLIC_KEY, TOKEN_KEY, URL, RULE, CONFIG,
    )
}  # fmt: skip
