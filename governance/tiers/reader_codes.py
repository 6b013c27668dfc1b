"""The catalogue of what the reader refuses or remarks on: one entry per code (TL0xx, TL40x).

- Every finding the reader, the JSON reader or the text scanner makes carries a code listed here.
- Codes are for ever: a code is never given another meaning, a retired one is never reused.
- The table is literal, so that the documentation is generated from it and cannot disagree with it.
"""

from __future__ import annotations

from typing import Final

from governance.records import dataclass


@dataclass(frozen=True, slots=True)
class CodeDoc:
    """What one code means: what was seen, why it matters, how to mend it, since which version."""

    name: str
    what: str
    why: str
    fix: str
    since: str = "0.1.0"


CODES: Final[dict[str, CodeDoc]] = {
    "TL001": CodeDoc(
        "not-utf8",
        "The file is not UTF-8: UTF-16, another encoding, or binary.",
        "Readers guess differently, so two machines would see two configs in one file.",
        "Save the file as UTF-8.",
    ),
    "TL002": CodeDoc(
        "byte-order-mark",
        "A byte order mark (U+FEFF). One at the very start is read past with a note; any other is an error.",
        "Some readers make it part of the first key, which is then unknown or dropped.",
        "Save as UTF-8 without a byte order mark.",
    ),
    "TL003": CodeDoc(
        "line-ends",
        "Carriage returns that are not part of uniform CRLF line ends.",
        "YAML readers take a lone carriage return for a line end and editors do not, so a reviewer can see "
        "other lines than the server reads.",
        "Convert the file to LF line ends.",
    ),
    "TL004": CodeDoc(
        "ambiguous-scalar",
        "An unquoted value that YAML 1.1 and YAML 1.2 readers read differently: `no`, `1e-5`, `0192117`, "
        "`12:30`, `2024-01-02`, `1_000`, `0o10`.",
        "The engine, the linter and this tool would each work with another value, and nobody would see.",
        "Quote it if text is meant, or write the number or boolean in the form both versions share.",
    ),
    "TL005": CodeDoc(
        "not-yaml",
        "The file is not well-formed YAML.",
        "Nothing can be read from it with certainty.",
        "Mend the named line; the message says what was expected.",
    ),
    "TL006": CodeDoc(
        "second-document",
        "A second YAML document in one file, after `---` or `...`. An empty one counts.",
        "Some programs read the first document, some the last, some all of them.",
        "Keep one document per file; remove the separator or move the rest to its own file.",
    ),
    "TL007": CodeDoc(
        "duplicate-key",
        "One key twice in one mapping, also when one is quoted and the other is not.",
        "Most readers keep the last value without a word, while a reviewer reads the first.",
        "Remove one of the two.",
    ),
    "TL008": CodeDoc(
        "anchor-or-alias",
        "An anchor, an alias or a merge key (`<<`).",
        "The value of a line then depends on another line; a change in one place changes several fields, and "
        "nested aliases can grow without bound.",
        "Write the value out.",
    ),
    "TL009": CodeDoc(
        "tag",
        "A tag such as `!!int`, `!ENV` or `!include`.",
        "Tags mean what each program decides they mean.",
        "Remove the tag and write the value itself; quote it if it is text.",
    ),
    "TL010": CodeDoc(
        "interpolation",
        "A reference to an environment variable: `${NAME}` in a plain or quoted value, or a plain value that "
        "is only `$NAME` or `$(NAME)`.",
        "The value would depend on the machine that reads the file; unset, it becomes an empty string that "
        "passes as a value.",
        "Write the value. Secrets are written `env:NAME`. If the characters themselves are meant, use a "
        "block scalar (`|-`), a text file, or the escape `\\x24{` in double quotes.",
    ),
    "TL011": CodeDoc(
        "key-not-text",
        "A mapping key that is not text: a number, a boolean, null, a list or a mapping.",
        "JSON and most engines know text keys only, and convert the others each in their own way.",
        'Quote the key: `"123": …`.',
    ),
    "TL012": CodeDoc(
        "not-a-finite-number",
        "NaN, infinity, a number too large for a double, or one so small that it becomes zero.",
        "NaN is not equal to itself, and JSON can hold none of them; they become null, or an error later.",
        "Write a finite number, or leave the key out.",
    ),
    "TL013": CodeDoc(
        "big-integer",
        "A whole number beyond 9007199254740991 (2^53 - 1) in either direction.",
        "Readers that hold numbers as doubles round it, so two of them disagree about its value.",
        "Use a smaller number, or quote it if it is an identifier.",
    ),
    "TL014": CodeDoc(
        "too-large",
        "The file is larger than the reader accepts.",
        "A config of that size is a mistake or an attack; it would stall every commit.",
        "Move long text into its own file beside the config.",
    ),
    "TL015": CodeDoc(
        "too-deep",
        "Nesting of more than 64 levels.",
        "Programs that walk such a tree run out of stack.",
        "Flatten the file.",
    ),
    "TL016": CodeDoc(
        "too-many-values",
        "More than 100,000 values in one file, aliases counted as often as they are used; in a JSONL file, "
        "more than 100,000 lines.",
        "A few hundred bytes of aliases can stand for billions of values.",
        "Write out what is meant, or split the file.",
    ),
    "TL017": CodeDoc(
        "raw-control-character",
        "A control character, or U+0085, U+2028 or U+2029, as itself in the file.",
        "YAML 1.1 ends a line at some of them, YAML 1.2 does not, and no editor shows them.",
        'Remove it, or write it as an escape in double quotes: "\\u2028".',
    ),
    "TL018": CodeDoc(
        "directive",
        "A directive such as `%YAML 1.1` or `%TAG`.",
        "It changes how every value below it is read.",
        "Remove the line. Tier files are YAML 1.2.",
    ),
    "TL019": CodeDoc(
        "empty",
        "The file holds no value: it is empty, only comments, or null.",
        "An empty file is a deleted config that nobody deleted.",
        "Write the config, or delete the file.",
    ),
    "TL020": CodeDoc(
        "not-a-mapping",
        "The top of the file is a list or a single value.",
        "A tier file is a mapping of keys to values.",
        "Write `key: value` lines.",
    ),
    "TL021": CodeDoc(
        "not-json",
        "The file, or the line of a JSONL file, is not well-formed JSON.",
        "Nothing can be read from it with certainty.",
        "Mend the named place; the message says what was expected.",
    ),
    "TL022": CodeDoc(
        "empty-line",
        "A JSONL file has an empty line.",
        "Readers differ: some skip it, some stop there, some count it.",
        "Remove the line.",
    ),
    "TL023": CodeDoc(
        "self-reference",
        "An alias inside the value it stands for.",
        "Such a value has no end.",
        "Write out what is meant.",
    ),
    "TL024": CodeDoc(
        "missing-anchor",
        "An alias with no anchor of that name before it.",
        "There is nothing it could stand for.",
        "Define the anchor, or write the value out.",
    ),
    "TL025": CodeDoc(
        "lone-surrogate",
        "An escape that yields half a character, such as `\\ud83d`.",
        "It cannot be written as UTF-8, so no two programs store it alike.",
        "Write the character itself, or `\\U0001f600`.",
    ),
    "TL026": CodeDoc(
        "no-final-newline",
        "The last line of a `|` or `>` text ends with the file, without a line end.",
        "Some readers then add a newline to the text and some do not: one byte of prompt, two meanings.",
        "End the file with a newline, or use `|-`.",
    ),
    "TL401": CodeDoc(
        "bidi-control",
        "A character that changes the direction of writing (U+202A to U+202E, U+2066 to U+2069, U+200E, "
        "U+200F, U+061C).",
        "The text on the reviewer's screen is in another order than the text the model gets.",
        "Remove the character.",
    ),
    "TL402": CodeDoc(
        "invisible-character",
        "A character with no width: zero-width space, word joiner, soft hyphen, tag characters, a variation "
        "selector or joiner that belongs to no emoji and no script that needs it.",
        "Nobody sees it, yet it splits a word into other tokens, and it can carry hidden instructions.",
        "Remove it.",
    ),
    "TL403": CodeDoc(
        "odd-space",
        "A space that is not the ordinary one: no-break, narrow, em, or an ideographic space outside Chinese "
        "or Japanese text.",
        "It looks like a space and is another token.",
        "Replace it by an ordinary space.",
    ),
    "TL404": CodeDoc(
        "look-alike-letter",
        "A Cyrillic or Greek letter that looks like the Latin letters around it, or the other way round.",
        "The word looks right and is another word to the model.",
        "Type the letter again in the script of the word.",
    ),
    "TL405": CodeDoc(
        "tab",
        "A tab character in text.",
        "It looks like spaces, and is another token.",
        "Use spaces, if the tab is not meant.",
    ),
    "TL406": CodeDoc(
        "control-character",
        "A control character in text, a lone carriage return included.",
        "Nobody sees it; some programs stop at it, some drop it.",
        "Remove it.",
    ),
    "TL407": CodeDoc(
        "unassigned-character",
        "A private-use character, or a code point that Unicode has not assigned.",
        "It has no agreed meaning; it is often left behind by a broken conversion.",
        "Replace it by the character that was meant.",
    ),
    "TL408": CodeDoc(
        "not-normalised",
        "A letter written as base letter and combining mark where one character exists: not form NFC.",
        "It looks the same and is other tokens; a search for one spelling misses the other.",
        "Convert the text to NFC, if the spelling is not meant.",
    ),
    "TL409": CodeDoc(
        "text-byte-order-mark",
        "A byte order mark (U+FEFF) in text.",
        "In a prompt it is not an encoding mark: it would be sent to the model.",
        "Save the file as UTF-8 without a byte order mark.",
    ),
}
