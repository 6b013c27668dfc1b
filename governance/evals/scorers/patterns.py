"""`regex` and `contains`: what must stand in an answer, and what must not.

- Patterns are those of the `regex` package, with a time limit: one that takes too long gives no score.
- `contains` looks for whole words by default: `cat` is not in `category`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from typing import Final

from governance.evals.model import Item, Score
from governance.evals.scorers.model import (
    Argument,
    Context,
    Example,
    Fault,
    Kind,
    Need,
    Scorer,
    argument,
    right,
    shown,
    texts,
    unscored,
    verdict,
    wrong,
)
from governance.evals.scorers.words import plain

TIMEOUT_S: Final = 1.0


def _regex(item: Item, answer: str, context: Context) -> Score:  # noqa: ARG001
    import regex

    pattern = str(argument(REGEX, item, "pattern"))
    whole = argument(REGEX, item, "where") == "whole"
    absent = argument(REGEX, item, "absent") is True
    compiled = regex.compile(pattern, regex.V1)
    find = compiled.fullmatch if whole else compiled.search
    try:
        found = find(answer.strip() if whole else answer, timeout=TIMEOUT_S)
    except TimeoutError:
        return unscored(f"the pattern took more than {TIMEOUT_S:g} s on this answer")
    if found is None:
        return right() if absent else wrong(f"`{shown(pattern)}` is not in {shown(answer)!r}")
    if absent:
        return wrong(f"`{shown(pattern)}` is there: {shown(found.group())!r}")
    return _group(item, found.group(1) or "") if texts(item.reference) else right()


def _group(item: Item, given: str) -> Score:
    """The first group against the reference."""
    if any(plain(given) == plain(expected) for expected in texts(item.reference)):
        return right()
    return wrong(f"the group has {shown(given)!r}, not {shown(texts(item.reference)[0])!r}")


def pattern_fault(pattern: str) -> str:
    """Why `pattern` is no regular expression; empty when it is one."""
    import regex

    try:
        regex.compile(pattern, regex.V1)
    except regex.error as err:
        return str(err)
    return ""


def _regex_faults(item: Item) -> Iterator[Fault]:
    import regex

    pattern = item.args.get("pattern")
    if not isinstance(pattern, str):
        return
    if why := pattern_fault(pattern):
        yield Fault(("args", "pattern"), f"`{shown(pattern)}` is no regular expression: {why}", "correct it")
        return
    if texts(item.reference) and not regex.compile(pattern, regex.V1).groups:
        message = "the reference is held against the first group of the pattern, which has none"
        yield Fault(("args", "pattern"), message, "put brackets around the part that is the answer")
    if texts(item.reference) and item.args.get("absent") is True:
        yield Fault(("reference",), "a pattern that must be absent has no group to compare", "remove it")


def _contains(item: Item, answer: str, context: Context) -> Score:  # noqa: ARG001
    has = _finder(item, answer)
    wanted, any_of = texts(argument(CONTAINS, item, "all")), texts(argument(CONTAINS, item, "any"))
    missing = [each for each in wanted if not has(each)]
    unwanted = [each for each in texts(argument(CONTAINS, item, "none")) if has(each)]
    met = len(wanted) - len(missing) + (1 if any_of and any(map(has, any_of)) else 0)
    asked = len(wanted) + (1 if any_of else 0)
    value = 0.0 if unwanted else met / asked if asked else 1.0
    told = [f"no {shown(each)!r}" for each in missing]
    told += [f"none of {', '.join(map(repr, any_of))}"] if any_of and not any(map(has, any_of)) else []
    told += [f"has {shown(each)!r}" for each in unwanted]
    return verdict(not told, value, "; ".join(told))


def _finder(item: Item, answer: str) -> Callable[[str], bool]:
    """A function that says whether a text is in the answer."""
    import re

    fold = argument(CONTAINS, item, "case") is not True
    whole = argument(CONTAINS, item, "words") is True

    def form(text: str) -> str:
        text = unicodedata.normalize("NFC", text)
        return " ".join((text.casefold() if fold else text).split())

    there = form(answer)

    def has(text: str) -> bool:
        wanted = form(text)
        if not whole:
            return wanted in there
        before = r"(?<!\w)" if wanted[:1].isalnum() else ""
        after = r"(?!\w)" if wanted[-1:].isalnum() else ""
        return re.search(f"{before}{re.escape(wanted)}{after}", there) is not None

    return has


def _contains_faults(item: Item) -> Iterator[Fault]:
    if not {"all", "any", "none"} & set(item.args):
        yield Fault(("args",), "`contains` looks for nothing", "add `all`, `any` or `none`")
    for name in ("all", "any", "none"):
        if any(not text.strip() for text in texts(item.args.get(name))):
            yield Fault(("args", name), "an empty text is in every answer", "remove it")


REGEX: Final = Scorer(
    what="A pattern matches the answer, or does not; its first group may be held against a reference.",
    judge=_regex,
    reference=Need.OPTIONAL,
    arguments={
        "pattern": Argument(Kind.TEXT, "regular expression of the `regex` package", required=True),
        "where": Argument(
            Kind.TEXT, "whether it matches the whole answer", "anywhere", ("anywhere", "whole")
        ),
        "absent": Argument(Kind.FLAG, "whether the pattern must not match", False),
    },
    faults=_regex_faults,
    examples=(
        Example(("Due on 2026-03-01.",), passed=True, args={"pattern": r"\d{4}-\d{2}-\d{2}"}),
        Example(("total: 12 EUR",), passed=True, args={"pattern": r"(\d+) EUR"}, reference="12"),
        Example(
            ("As an AI model I cannot",), passed=False, args={"pattern": r"(?i)as an AI", "absent": True}
        ),
        Example(("yes, surely",), passed=False, args={"pattern": "yes|no", "where": "whole"}),
    ),
)
CONTAINS: Final = Scorer(
    what="Words or texts stand in the answer: all of some, any of some, none of some.",
    judge=_contains,
    reference=Need.NONE,
    arguments={
        "all": Argument(Kind.TEXTS, "each of these is in the answer"),
        "any": Argument(Kind.TEXTS, "at least one of these is"),
        "none": Argument(Kind.TEXTS, "none of these is"),
        "case": Argument(Kind.FLAG, "whether upper and lower case differ", False),
        "words": Argument(Kind.FLAG, "whether only whole words count", True),
    },
    faults=_contains_faults,
    examples=(
        Example(("Paris lies on the Seine.",), passed=True, args={"all": ["paris", "seine"]}),
        Example(("Sorry, I can't.",), passed=False, args={"none": ["sorry"]}),
        Example(("a category",), passed=False, args={"any": ["cat", "dog"]}),
    ),
)
