"""`json-schema`: the answer is JSON and keeps a schema; with a reference it is also the right value.

- Draft 2020-12 unless `$schema` names another. References lead inside the schema only: nothing is fetched.
- The score is all or nothing: half an object is of no use to what reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from governance.evals.model import Item, Score
from governance.evals.scorers.json_answers import value_in
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
    wrong,
)
from governance.values import ABSENT, Absent, Json, key_text

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


def _judge(item: Item, answer: str, context: Context) -> Score:  # noqa: ARG001
    value = value_in(answer, where=str(argument(JSON_SCHEMA, item, "where")))
    if isinstance(value, Absent):
        return wrong(f"no JSON: {shown(answer)!r}" if answer.strip() else "the answer is empty")
    schema = item.args.get("schema")
    if isinstance(schema, Mapping) and (why := schema_breach(value, schema)):
        return wrong(why)
    if item.reference is not ABSENT and not same(value, item.reference):
        return wrong(f"{shown(_dump(value))} is not {shown(_dump(item.reference))}")
    return right()


def schema_breach(value: Json, schema: Mapping[str, Json]) -> str:
    """Why `value` does not keep `schema`, the gravest fault alone; empty when it does."""
    from jsonschema.exceptions import best_match

    fault = best_match(_validator(_dump(schema)).iter_errors(value))
    if fault is None:
        return ""
    at = key_text(tuple(fault.absolute_path))
    return f"`{at}`: {shown(fault.message, 160)}" if at else shown(fault.message, 160)


def schema_fault(schema: Mapping[str, Json]) -> str:
    """Why `schema` is no JSON Schema, or cannot be used here; empty when it can."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(dict(schema))
    except SchemaError as err:
        at = key_text(tuple(err.absolute_path))
        return f"`{at}`: {shown(err.message, 160)}" if at else shown(err.message, 160)
    outside = next(_outside(schema), "")
    return f"`$ref: {shown(outside)}` leads out of the schema" if outside else ""


def _outside(schema: Any) -> Iterator[str]:
    """Every reference that is not `#…`."""
    if isinstance(schema, Mapping):
        target = schema.get("$ref")
        if isinstance(target, str) and not target.startswith("#"):
            yield target
        for inner in schema.values():
            yield from _outside(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _outside(inner)


@lru_cache(maxsize=64)
def _validator(text: str) -> Validator:
    import json

    from jsonschema.validators import Draft202012Validator, validator_for

    schema = json.loads(text)
    return validator_for(schema, default=Draft202012Validator)(schema)


def same(left: Json, right_: Json) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, true is not 1, the order of keys does not count."""
    if isinstance(left, bool) or isinstance(right_, bool):
        return left is right_
    if isinstance(left, Mapping) and isinstance(right_, Mapping):
        return left.keys() == right_.keys() and all(same(left[key], right_[key]) for key in left)
    if isinstance(left, list) and isinstance(right_, list):
        return len(left) == len(right_) and all(same(*pair) for pair in zip(left, right_, strict=True))
    return left == right_


def _dump(value: Json | Absent) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _faults(item: Item) -> Iterator[Fault]:
    schema = item.args.get("schema")
    if not isinstance(schema, Mapping):
        return
    if why := schema_fault(schema):
        yield Fault(("args", "schema"), f"the schema is none: {why}", "correct it")
    elif item.reference is not ABSENT and (why := schema_breach(item.reference, schema)):
        yield Fault(("reference",), f"the reference does not keep the schema: {why}", "no answer could pass")


_PERSON: Final[dict[str, Json]] = {
    "type": "object",
    "required": ["name", "age"],
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "additionalProperties": False,
}
JSON_SCHEMA: Final = Scorer(
    what="The answer is JSON that keeps a schema, and is the reference where there is one.",
    judge=_judge,
    reference=Need.OPTIONAL,
    reference_kind=Kind.ANY,
    arguments={
        "schema": Argument(Kind.MAPPING, "the JSON Schema", required=True),
        "where": Argument(
            Kind.TEXT,
            "the `whole` answer is JSON, or a code `fence` around it is allowed, or the `first` value counts",
            "fence",
            ("whole", "fence", "first"),
        ),
    },
    faults=_faults,
    examples=(
        Example(('{"name": "Ada", "age": 36}',), passed=True, args={"schema": _PERSON}),
        Example(('```json\n{"name": "Ada", "age": 36}\n```',), passed=True, args={"schema": _PERSON}),
        Example(('{"name": "Ada"}',), passed=False, args={"schema": _PERSON}),
        Example(('Here it is: {"name": "Ada", "age": 36}',), passed=False, args={"schema": _PERSON}),
    ),
)
