"""`contract`: the answer keeps the output contract of the service's prompts config.

- Every term of the contract that can be judged from the text is: schema, regex, choices, lengths, texts that
  must and must not be there, language. Terms that need the engine (grammar, tokens) are not judged.
- A language is judged where it can be told from script and function words, else passed over.
- A service without a contract gives no score: nothing was promised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from governance.evals.model import Item, Score
from governance.evals.scorers.json_answers import value_in
from governance.evals.scorers.languages import language_of
from governance.evals.scorers.limits import breaches
from governance.evals.scorers.model import (
    Context,
    Example,
    Need,
    Scorer,
    right,
    shown,
    texts,
    unscored,
    wrong,
)
from governance.evals.scorers.patterns import TIMEOUT_S
from governance.evals.scorers.schema import schema_breach
from governance.values import Absent, Json

_JSON_FORMATS: Final = frozenset({"json", "json_object", "json_schema"})


class _UnclearError(Exception):
    """A term that could not be judged; the text says why."""


def _judge(item: Item, answer: str, context: Context) -> Score:
    if not context.contract:
        return unscored("the service has no output contract")
    try:
        told = list(_breaches(item, answer, context))
    except _UnclearError as err:
        return unscored(str(err))
    return wrong("; ".join(told)) if told else right()


def _breaches(item: Item, answer: str, context: Context) -> Iterator[str]:
    contract = context.contract
    if not answer.strip():
        yield "the answer is empty"
        return
    yield from breaches(contract, answer)
    choices = texts(contract.get("choices"))
    if choices and answer.strip() not in choices:
        yield f"{shown(answer)!r} is none of the {len(choices)} choices"
    yield from (f"no {shown(each)!r}" for each in texts(contract.get("must_contain")) if each not in answer)
    yield from (f"has {shown(each)!r}" for each in texts(contract.get("must_not_contain")) if each in answer)
    yield from _form(answer, context)
    yield from _language(item, answer, str(contract.get("language", "")))


def _form(answer: str, context: Context) -> Iterator[str]:
    contract = context.contract
    pattern = contract.get("regex")
    if isinstance(pattern, str) and not _matches(pattern, answer):
        yield f"does not match `{shown(pattern)}`"
    schema = _schema(context)
    if schema is None and contract.get("format") not in _JSON_FORMATS:
        return
    value = value_in(answer, where="whole")
    if isinstance(value, Absent):
        yield f"no JSON: {shown(answer)!r}"
    elif schema is not None and (why := schema_breach(value, schema)):
        yield why


def _matches(pattern: str, answer: str) -> bool:
    import regex

    try:
        return regex.fullmatch(pattern, answer.strip(), regex.DOTALL, timeout=TIMEOUT_S) is not None
    except TimeoutError:
        raise _UnclearError(f"the contract's pattern took more than {TIMEOUT_S:g} s") from None
    except regex.error as err:
        raise _UnclearError(f"the contract's pattern is none: {err}") from None


def _schema(context: Context) -> Mapping[str, Json] | None:
    named = context.contract.get("schema")
    if not isinstance(named, Mapping):
        return None
    import json

    name = str(named.get("file"))
    if name not in context.files:
        raise _UnclearError(f"the contract's schema `{name}` is not at hand")
    try:
        schema = json.loads(context.files[name])
    except ValueError:
        raise _UnclearError(f"the contract's schema `{name}` is no JSON") from None
    return schema if isinstance(schema, Mapping) else None


def _language(item: Item, answer: str, wanted: str) -> Iterator[str]:
    if not wanted:
        return
    expected = language_of(_question(item)) if wanted == "same-as-input" else wanted.split("-")[0].lower()
    found = language_of(answer)
    if expected and found and found != expected:
        yield f"in `{found}`, not in `{expected}`"


def _question(item: Item) -> str:
    """What the item hands in: its longest text stands for its language."""
    given: list[str] = [item.prompt, *(each for each in item.variables.values() if isinstance(each, str))]
    given += [content for turn in item.messages if isinstance(content := turn.get("content"), str)]
    return max(given, key=len, default="")


_SHORT: Final[dict[str, Json]] = {"max_sentences": 1, "must_not_contain": ["Sure"]}
CONTRACT: Final = Scorer(
    what="The answer keeps the output contract of the service's prompts config.",
    judge=_judge,
    reference=Need.NONE,
    examples=(
        Example(("The bridge is closed until May.",), passed=True, contract=_SHORT),
        Example(("Sure! The bridge is closed.",), passed=False, contract=_SHORT),
        Example(("maybe",), passed=False, contract={"choices": ["yes", "no"]}),
    ),
)
