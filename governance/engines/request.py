"""What a request of a service says, in the words of the engine that serves: every parameter, none invented.

- Each value of the sampling config is sent with each request; `inherit`, like what is not there, is not.
- A parameter for which the engine's version has no field is left out and told with the reason: engines drop
  unknown fields without a word, and an eval must not pretend that they counted.
- The output contract constrains the tokens only where `structured.mode` says so, in the engine's own form.
- Pure: trees in, fields out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from governance.engines import registry, tables
from governance.engines.keys import leaves, look
from governance.engines.request_words import (
    BEAMS,
    EVIDENCE,
    FIELDS,
    OPENAI,
    PROMPT_FIELDS,
    REFUSED_NEUTRAL,
    RESPELT,
    RESPONSES,
)
from governance.engines.resolve import INHERIT, NOT_SENT, Takes
from governance.records import dataclass, field
from governance.values import Json, Tree, Unknown

_GROUPS: Final = frozenset({"dry", "xtc", "mirostat", "dynamic_temperature"})
_SHAPED: Final = frozenset({"structured", "beam"})


@dataclass(frozen=True, slots=True)
class Contract:
    """The output contract of a prompts config with its files read: each part, or `ABSENT`/empty."""

    schema: Json = None
    regex: str = ""
    grammar: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a request but its messages; `left_out` says of each key that is not sent why."""

    body: Mapping[str, Json] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dialect:
    """Who is spoken to: the engine, its version, and the interface (`chat`, `completions`, `responses`)."""

    engine: str
    version: str
    api: str = "chat"

    def has(self, name: str) -> bool:
        """Whether the version has a field `name`; where its fields were not read, it is taken to."""
        if self.engine not in ("vllm", "sglang"):
            return True
        fields = tables.defaults(self.engine, self.version, "request")
        return isinstance(fields, Unknown) or name in fields


def dialect_of(base: Tree, api: str = "chat") -> Dialect:
    """Who serves `base`; an engine that is not named is spoken to in the words all share."""
    name, version = look(base, "engine.name"), look(base, "engine.version")
    return Dialect(
        name if isinstance(name, str) else "", version if isinstance(version, str) else "", api or "chat"
    )


def sampling_fields(dialect: Dialect, sampling: Tree, contract: Contract | None = None) -> Fields:
    """Every decoding parameter of `sampling` as fields of a request."""
    body: dict[str, Json] = {}
    left_out: dict[str, str] = {}
    for key, value in _said(sampling):
        name = _name(dialect, key)
        if name is None:
            left_out[f"sampling.{key}"] = f"{_called(dialect)} has no field for it"
        elif REFUSED_NEUTRAL.get(dialect.engine, {}).get(name) != value or isinstance(value, bool):
            body[name] = _respelt(dialect, name, value)
    for fields in (_beam(dialect, sampling), _structured(dialect, sampling, contract or Contract())):
        body |= fields.body
        left_out |= fields.left_out
    extra = sampling.get("extra")
    if isinstance(extra, Mapping):
        body |= extra
    return Fields(_counted(dialect, body), left_out)


def prompt_fields(dialect: Dialect, given: Tree) -> Fields:
    """What the prompts tier adds to a request beside its text; `given` has files as their content."""
    taken = PROMPT_FIELDS.get(dialect.engine, ("tools",))
    body: dict[str, Json] = {}
    left_out: dict[str, str] = {}
    for key, value in given.items():
        if key in taken and dialect.has(key) and dialect.api == "chat":
            body[key] = value
        else:
            left_out[f"prompts.{key}"] = f"{_called(dialect)} has no field for it"
    return Fields(body, left_out)


def evidence_fields(dialect: Dialect, sampling: Tree) -> Tree:
    """What is asked for on top, so that answers compare by token: nothing the config decides itself."""
    if sampling.get("logprobs", INHERIT) != INHERIT or dialect.api == "responses":
        return {}
    wanted = EVIDENCE.get(dialect.engine, {})
    found = {
        name: value
        for name, value in wanted.items()
        if dialect.has(name) and sampling.get(name, INHERIT) == INHERIT
    }
    return _counted(dialect, found)


def stream_fields(dialect: Dialect) -> Tree:
    """What asks for a streamed answer that ends with its token counts."""
    if dialect.api == "responses":
        return {"stream": True}
    return {"stream": True, "stream_options": {"include_usage": True}}


def _counted(dialect: Dialect, body: dict[str, Json]) -> dict[str, Json]:
    """`/v1/completions` takes `logprobs` as a number."""
    if dialect.api != "completions":
        return body
    rest = {name: value for name, value in body.items() if name not in ("logprobs", "top_logprobs")}
    return {**rest, "logprobs": body.get("top_logprobs", 1)} if body.get("logprobs") else rest


def _said(sampling: Tree) -> Iterator[tuple[str, Json]]:
    """Each parameter with a value, groups taken apart; what has a form of its own is left to its function."""
    for key, value in sampling.items():
        if key in NOT_SENT or key in _SHAPED or value == INHERIT:
            continue
        if key in _GROUPS and isinstance(value, Mapping):
            yield from leaves(value, f"{key}.")
        else:
            yield key, value


def _name(dialect: Dialect, key: str) -> str | None:
    """The engine's field for `key`; None when it has none."""
    if dialect.api == "responses":
        return RESPONSES.get(key)
    names = FIELDS.get(dialect.engine)
    name = names.get(key) if names is not None else key if key in OPENAI else None
    return name if name is not None and _takes(dialect, key) and dialect.has(name) else None


def _takes(dialect: Dialect, key: str) -> bool:
    if dialect.engine not in registry.ENGINES:
        return True
    takes = cast("Takes | None", getattr(registry.load(dialect.engine), "takes", None))
    return takes is None or key == "stream" or takes(key)


def _respelt(dialect: Dialect, name: str, value: Json) -> Json:
    if isinstance(value, bool | Mapping) or (isinstance(value, Sequence) and not isinstance(value, str)):
        return value
    return RESPELT.get(dialect.engine, {}).get((name, value), value)


def _beam(dialect: Dialect, sampling: Tree) -> Fields:
    beam = sampling.get("beam")
    width = beam.get("width", 1) if isinstance(beam, Mapping) else 1
    if not isinstance(beam, Mapping) or width == 1:
        return Fields()
    if dialect.engine not in BEAMS or not dialect.has("use_beam_search"):
        return Fields({}, {"sampling.beam": f"{_called(dialect)} has no field for it"})
    body: dict[str, Json] = {"use_beam_search": True, "n": width}
    rest = {key: value for key, value in beam.items() if key != "width"}
    if "early_stopping" in rest and dialect.engine == "tensorrt-llm":
        body["early_stopping"] = rest.pop("early_stopping")
    return Fields(body, {f"sampling.beam.{key}": f"{_called(dialect)} has no field for it" for key in rest})


def _structured(dialect: Dialect, sampling: Tree, contract: Contract) -> Fields:
    """The part of the output contract that `structured.mode` enforces, in the engine's own form."""
    asked = sampling.get("structured")
    mode = asked.get("mode", "off") if isinstance(asked, Mapping) else "off"
    if not isinstance(asked, Mapping) or mode == "off":
        return Fields()
    parts: dict[object, Json] = {
        "json_object": True,
        "json_schema": contract.schema,
        "regex": contract.regex,
        "grammar": contract.grammar,
        "choices": list(contract.choices),
    }
    part = parts.get(mode)
    if part is None or part in ("", []):
        return Fields({}, {"sampling.structured": f"the output contract has nothing for `{mode}`"})
    form = _form(dialect, str(mode), part, strict=asked.get("strict"))
    if form is None:
        return Fields({}, {"sampling.structured": f"{_called(dialect)} has no form of `{mode}`"})
    backend = asked.get("backend")
    if backend is not None and dialect.engine == "vllm" and "guided_" in next(iter(form)):
        form = {**form, "guided_decoding_backend": backend}
    return Fields(form)


def _form(dialect: Dialect, mode: str, part: Json, *, strict: Json) -> Tree | None:
    """The fields that hold tokens to `part`; None when the engine cannot."""
    if mode == "json_object":
        return {"response_format": {"type": "json_object"}}
    if mode == "json_schema":
        return {"response_format": _json_schema(dialect, part, strict)}
    if dialect.api == "responses":
        return None
    if dialect.engine == "vllm":
        word = {"choices": "choice"}.get(mode, mode)
        new = dialect.has("structured_outputs")
        return {"structured_outputs": {word: part}} if new else {f"guided_{word}": part}
    text = _alternatives(part) if mode == "choices" and isinstance(part, list) else part
    if dialect.engine == "sglang":
        return {"ebnf" if mode == "grammar" else "regex": text}
    if dialect.engine == "tgi" and mode != "grammar":
        return {"response_format": {"type": "regex", "value": text}}
    if dialect.engine == "tensorrt-llm":
        word = "ebnf" if mode == "grammar" else "regex"
        return {"response_format": {"type": word, word: text}}
    if dialect.engine == "llama.cpp" and mode == "grammar":
        return {"grammar": part}
    if dialect.engine == "llama.cpp" and mode == "choices" and isinstance(part, list):
        return {"grammar": "root ::= " + " | ".join(json.dumps(choice) for choice in part)}
    return None


def _json_schema(dialect: Dialect, schema: Json, strict: Json) -> Tree:
    if dialect.engine == "tgi":
        return {"type": "json_object", "value": schema}
    said: dict[str, Json] = {"name": "answer", "schema": schema}
    if strict is not None:
        said["strict"] = strict
    return {"type": "json_schema", "json_schema": said}


def _alternatives(choices: Sequence[Json]) -> str:
    return "(" + "|".join(re.escape(str(choice)) for choice in choices) + ")"


def _called(dialect: Dialect) -> str:
    where = " of /v1/responses" if dialect.api == "responses" else ""
    return f"{dialect.engine or 'the interface'} {dialect.version}".strip() + where
