"""A service: what only shows when a base, a sampling and a prompts config meet.

- The effective value counts: what the config leaves out, the engine or the model's file fills in.
- A finding stands where it is mended: at the key of the config that has to change.
- Configs bound by several services are judged once per combination.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from governance.tiers.rules.base import json_object
from governance.tiers.rules.budget import least, likely
from governance.tiers.rules.contract import shortest
from governance.tiers.rules.model import (
    ERROR,
    WARNING,
    Context,
    Hit,
    Rule,
    listed,
    number,
    section,
    text_at,
    texts,
    whole,
)
from governance.tiers.rules.output import output_of, output_schema, wants_json
from governance.tiers.rules.prompts import fixed_text
from governance.tiers.rules.sampling import floating, out_of_range, profile_of
from governance.values import ABSENT, Absent, Tree, Unknown
from governance.verdict import EffectiveValue

_MODEL_FILE: Final = "generation_config.json"
_SHAPING: Final = (
    "top_k", "min_p", "typical_p", "top_n_sigma", "top_a", "epsilon_cutoff", "eta_cutoff",
    "repetition_penalty",
    "repetition_window", "presence_penalty", "frequency_penalty", "length_penalty", "no_repeat_ngram_size",
    "dry",
    "xtc", "mirostat", "dynamic_temperature", "samplers", "guidance_scale", "watermark",
)  # fmt: skip
_NO_EFFECT: Final[Mapping[str, tuple[float, ...]]] = {
    "top_k": (0, -1), "min_p": (0.0,), "typical_p": (1.0,), "top_n_sigma": (-1.0, 0.0), "top_a": (0.0,),
    "epsilon_cutoff": (0.0,), "eta_cutoff": (0.0,), "repetition_penalty": (1.0,), "presence_penalty": (0.0,),
    "frequency_penalty": (0.0,), "length_penalty": (1.0,), "no_repeat_ngram_size": (0,),
    "guidance_scale": (1.0,),
}  # fmt: skip
# vLLM takes 0 for "all tokens" from 0.9 on; SamplingParams._verify_args of each version.
_TOP_K_REFUSED: Final[Mapping[str, frozenset[int]]] = {
    "sglang": frozenset({0}), "tgi": frozenset({0, -1}), "transformers": frozenset({-1}),
    "vllm": frozenset({0}),
}  # fmt: skip


def generation_config(context: Context) -> Tree | Absent:
    """The model's own generation_config.json as kept beside the base config; `ABSENT` when nobody kept it."""
    name = text_at(context.base, "model", "generation_config", "file")
    data = context.base_files.get(name) if name else None
    return ABSENT if data is None else json_object(data)


def _defaults(context: Context) -> Mapping[str, EffectiveValue]:
    if context.facts is None or not context.base:
        return {}
    found = context.facts.sampling_defaults(context.base, generation_config(context))
    return {} if isinstance(found, Unknown) else found


def _from_model(value: EffectiveValue | None) -> bool:
    return value is not None and (_MODEL_FILE in value.provenance or isinstance(value.value, Unknown))


def _shown(key: str, value: EffectiveValue) -> str:
    if isinstance(value.value, Unknown | Absent):
        return f"`{key}`"
    return f"`{key}` {value.value}"


def _floating_from_model(context: Context) -> Iterator[Hit]:
    names = floating(context.sampling) if context.sampling else ()
    if not names or "generation_config" in context.options:
        return
    defaults = _defaults(context)
    taken = [(key, defaults[key]) for key in names if key in defaults and _from_model(defaults[key])]
    if not taken:
        return
    engine = f"{context.engine} {text_at(context.base, 'engine', 'version')}"
    them = "it" if len(taken) == 1 else "them"
    kept = "" if isinstance(generation_config(context), dict) else ", which is not kept here"
    yield Hit(
        f"{', '.join(_shown(key, value) for key, value in taken)}: {engine} takes {them} from the model's "
        f"{_MODEL_FILE}{kept} ({_for(context)})",
        ("kind",),
        "pin the values, write `inherit`, or set `engine.options.generation_config` in the base config",
        tier="sampling",
    )


def _for(context: Context) -> str:
    names = listed(context.services[:3])
    more = len(context.services) - 3
    return (
        f"service {names}"
        if len(context.services) == 1
        else f"services {names}" + (f" and {more} more" if more > 0 else "")
    )


def _effective_temperature(context: Context) -> Iterator[Hit]:
    task, given = context.sampling.get("task"), context.sampling.get("temperature")
    if task is None or number(given) is not None:
        return
    profile = profile_of(context, task)
    if not section(profile, "temperature"):
        return
    value = _defaults(context).get("temperature")
    if value is None or isinstance(value.value, Unknown | Absent):
        return
    fault = out_of_range(profile, "temperature", value.value)
    if fault:
        yield Hit(
            f"temperature is {value.value} ({value.provenance}), {fault}, the range of task `{task}` "
            f"({_for(context)})",
            ("temperature",) if given is not None else ("task",),
            "write `temperature`",
            tier="sampling",
        )


def _batch_invariance(context: Context) -> Iterator[Hit]:
    if context.sampling.get("deterministic") is not True or not context.base:
        return
    options = context.options
    if options.get("batch_invariant") is not True and whole(options.get("max_num_seqs")) != 1:
        yield Hit(
            f"`deterministic: true`, and the engine's results depend on the batch ({_for(context)})",
            ("deterministic",),
            "set `engine.options.batch_invariant: true` or `max_num_seqs: 1`, or expect a few forks under "
            "load",
            tier="sampling",
        )


def _top_k(context: Context) -> Iterator[Hit]:
    value = whole(context.sampling.get("top_k"))
    engine = context.engine
    if value is None or value not in _TOP_K_REFUSED.get(engine, ()):
        return
    if engine == "vllm" and _version(text_at(context.base, "engine", "version")) >= (0, 9):
        return
    other = {"sglang": "-1", "vllm": "-1", "transformers": "0"}.get(engine)
    yield Hit(
        f"{engine} {text_at(context.base, 'engine', 'version')} refuses `top_k: {value}`",
        ("top_k",),
        f"write {other} to keep all tokens" if other else "leave `top_k` to `inherit`",
        tier="sampling",
    )


def _version(text: str) -> tuple[int, int]:
    parts = text.lstrip("v").split(".")
    try:
        return int(parts[0]), int(parts[1])
    except (IndexError, ValueError):
        return 10**6, 0


def _unknown_parameter(context: Context) -> Iterator[Hit]:
    set_keys = [key for key in _SHAPING if key in context.sampling and context.sampling[key] != "inherit"]
    set_keys = [key for key in set_keys if context.sampling[key] not in _NO_EFFECT.get(key, ())]
    if not set_keys:
        return
    known = _defaults(context)
    if not known:
        return
    for key in set_keys:
        if key not in known and not any(name.startswith(f"{key}.") for name in known):
            yield Hit(
                f"{text_at(context.base, 'engine', 'name')} does not know `{key}`: it is dropped or refused",
                (key,),
                "remove it, or bind the sampling config to an engine that has it",
                on_key=True,
                tier="sampling",
            )


def _replaced(context: Context) -> Iterator[Hit]:
    engine, sampling = context.engine, context.sampling
    temperature = number(sampling.get("temperature"))
    if engine == "vllm" and temperature is not None and 0 < temperature < 0.01:
        instead = "greedy decoding" if temperature < 1e-5 else "0.01"
        yield Hit(
            f"vllm turns `temperature: {temperature:g}` into {instead}",
            ("temperature",),
            "write 0",
            tier="sampling",
        )
    presence = number(sampling.get("presence_penalty"))
    if engine == "tgi" and presence is not None and presence != 0:
        yield Hit(
            f"tgi turns `presence_penalty: {presence:g}` into a repetition penalty of {presence + 2:g}",
            ("presence_penalty",),
            "write `repetition_penalty`",
            tier="sampling",
        )
    if engine == "transformers" and whole(sampling.get("seed")) is not None:
        if whole(context.options.get("max_num_seqs")) == 1:
            return
        yield Hit(
            "transformers serve sets `seed` for the whole process: concurrent requests overwrite each "
            "other's",
            ("seed",),
            tier="sampling",
        )


def _answer_length(context: Context) -> int | None:
    return whole(context.sampling.get("max_tokens"))


def _over_context(context: Context) -> Iterator[Hit]:
    options = context.options
    length, answer = whole(options.get("max_model_len")), _answer_length(context)
    if length is None or not context.prompts:
        return
    answer = answer or 0
    declared = whole(context.prompts.get("max_prompt_tokens"))
    room = length - answer
    if declared is not None and declared > room:
        yield Hit(
            f"`max_prompt_tokens: {declared}` and `max_tokens: {answer}` exceed `max_model_len: {length}` "
            f"({_for(context)})",
            ("max_prompt_tokens",),
            "lower one of them",
            tier="prompts",
        )
        return
    text = fixed_text(Context(tier="prompts", tree=context.prompts, files=context.prompts_files))
    certain, guess = least(text), likely(text)
    limit = min(room, whole(options.get("max_input_tokens")) or room)
    if certain > limit or guess > limit:
        yield Hit(
            f"the fixed text takes about {guess} tokens (estimated) and {max(0, limit)} are left of "
            f"`max_model_len: {length}` ({_for(context)})",
            ("kind",),
            "shorten the text, lower `max_tokens`, or raise `max_model_len`",
            tier="prompts",
            severity=None if certain > limit else WARNING,
        )


def _schema_too_long(context: Context) -> Iterator[Hit]:
    answer, output = _answer_length(context), output_of(context)
    schema = output_schema(output, context) if answer is not None and "schema" in output else None
    if answer is None or schema is None:
        return
    characters = shortest(schema, schema)
    if characters is not None and characters / 4 > answer:
        yield Hit(
            f"the shortest answer that keeps the schema has {characters} characters, about "
            f"{characters // 4} tokens, and "
            f"`max_tokens` is {answer}",
            ("max_tokens",),
            "raise `max_tokens`",
            tier="sampling",
        )


def _contract_length(context: Context) -> Iterator[Hit]:
    answer, wanted = _answer_length(context), whole(output_of(context).get("max_tokens"))
    if answer is not None and wanted is not None and wanted > answer:
        yield Hit(
            f"the contract allows {wanted} tokens and sampling cuts at {answer} ({_for(context)})",
            ("output", "max_tokens"),
            "make the two agree",
            tier="prompts",
        )


def _stop_twice(context: Context) -> Iterator[Hit]:
    first = frozenset(texts(context.sampling.get("stop")))
    for index, stop in enumerate(texts(context.prompts.get("stop"))):
        if stop in first:
            yield Hit(
                f"the stop string `{_printable(stop)}` stands in the sampling config too",
                ("stop", index),
                "keep it where it belongs: text of the prompt's form here, the rest in sampling",
                tier="prompts",
            )


def _printable(text: str) -> str:
    return text.replace("\n", "\\n").replace("\t", "\\t")


_MODE_NEEDS: Final[Mapping[str, str]] = {
    "json_schema": "schema", "regex": "regex", "grammar": "grammar", "choices": "choices",
}  # fmt: skip


def _mode(context: Context) -> Iterator[Hit]:
    mode = text_at(context.sampling, "structured", "mode")
    output = output_of(context)
    if not mode or not context.prompts:
        return
    needed = _MODE_NEEDS.get(mode)
    if needed is not None and needed not in output:
        yield Hit(
            f"`structured.mode: {mode}`, and the prompts have no `output.{needed}` ({_for(context)})",
            ("structured", "mode"),
            tier="sampling",
        )


def _not_enforced(context: Context) -> Iterator[Hit]:
    output = output_of(context)
    if not wants_json(output) or not context.sampling:
        return
    profile = profile_of(context, context.sampling.get("task"))
    mode = text_at(context.sampling, "structured", "mode")
    if profile.get("structured") is False:
        yield Hit(
            f"task `{context.sampling.get('task')}` cannot hold an answer to a schema, and the prompts ask "
            "for JSON "
            f"({_for(context)})",
            ("task",),
            tier="sampling",
            severity=ERROR,
        )
    elif mode in {"", "off"}:
        yield Hit(
            f"the prompts ask for JSON and nothing constrains the tokens to it ({_for(context)})",
            ("structured", "mode") if mode else ("kind",),
            "add `structured: {mode: json_schema}`",
            tier="sampling",
        )


def _server_logprobs(context: Context) -> Iterator[Hit]:
    top = whole(context.options.get("max_logprobs"))
    asked = whole(context.sampling.get("top_logprobs"))
    if top is not None and top >= 0 and asked is not None and asked > top:
        yield Hit(
            f"`top_logprobs: {asked}` is above the server's `max_logprobs: {top}`",
            ("top_logprobs",),
            tier="sampling",
        )


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "TL311", "floating-from-model-file", ERROR, ("service",),
        what="A parameter that nobody set is taken from the model's generation_config.json, and no one has "
        "said that "
        "this is meant.",
        why="An upgrade of the engine or another file in the model repository changes it while sampling "
        "stays the same.",
        fix="Pin the value, write `inherit`, or set `engine.options.generation_config`.",
        check=_floating_from_model, engine=True,
    ),
    Rule(
        "TL312", "effective-temperature-outside-profile", ERROR, ("service",),
        what="The temperature that applies, from the model's file or the engine's default, is outside the "
        "task's range.",
        why="The profile is meant for the answers, not for the file.",
        fix="Write `temperature` in the sampling config.",
        check=_effective_temperature, engine=True,
    ),
    Rule(
        "TL323", "batch-dependent", WARNING, ("service",),
        what="Repeatable output is claimed on an engine whose results depend on the batch.",
        why="Greedy answers with a fixed seed still fork under load: other batch shapes round otherwise.",
        fix="Set `batch_invariant: true` where the engine has it, serve one request at a time, or drop the "
        "claim.",
        check=_batch_invariance,
    ),
    Rule(
        "TL333", "top-k-of-another-engine", ERROR, ("service",),
        what="“All tokens” is written as another engine writes it.",
        why="The server refuses every request.",
        fix="Write what the engine takes: -1 or 0.",
        check=_top_k,
    ),
    Rule(
        "TL338", "parameter-unknown-to-engine", ERROR, ("service",),
        what="A decoding parameter that the bound engine does not have.",
        why="Most servers drop unknown fields and answer 200: the value looks as if it worked.",
        fix="Remove it, or use an engine that has it.",
        check=_unknown_parameter, engine=True,
    ),
    Rule(
        "TL339", "parameter-replaced", WARNING, ("service",),
        what="The engine replaces the value by another without saying so.",
        why="The config says one thing, the tokens follow another.",
        fix="Write what the engine really does.",
        check=_replaced,
    ),
    Rule(
        "TL344", "top-logprobs-above-server", ERROR, ("service",),
        what="`top_logprobs` is above the server's `max_logprobs`.",
        why="The server refuses every request.",
        fix="Raise `engine.options.max_logprobs`.",
        check=_server_logprobs,
    ),
    Rule(
        "TL348", "structured-without-contract", ERROR, ("service",),
        what="Sampling constrains tokens to a part of the contract that the prompts do not have.",
        why="The server refuses the request, or constrains nothing.",
        fix="Add the part to `output`, or change `structured.mode`.",
        check=_mode,
    ),
    Rule(
        "TL422", "stop-said-twice", WARNING, ("service",),
        what="One stop string stands in the sampling and in the prompts config.",
        why="Removing it in one place changes nothing, and nobody sees why.",
        fix="Keep it in one place.",
        check=_stop_twice,
    ),
    Rule(
        "TL436", "answer-too-short-for-schema", ERROR, ("service",),
        what="The shortest answer that keeps the schema is longer than `max_tokens` (4 characters a token).",
        why="Every answer is cut off inside its JSON.",
        fix="Raise `max_tokens`.",
        check=_schema_too_long,
    ),
    Rule(
        "TL437", "contract-above-max-tokens", WARNING, ("service",),
        what="The contract allows longer answers than sampling does.",
        why="Good long answers are cut off.",
        fix="Make the two agree.",
        check=_contract_length,
    ),
    Rule(
        "TL438", "contract-not-enforced", WARNING, ("service",),
        what="The prompts ask for JSON and decoding is free. It is an error when the task's profile cannot "
        "hold a "
        "schema.",
        why="Now and then an answer is no JSON.",
        fix="Add `structured: {mode: json_schema}` to the sampling config.",
        check=_not_enforced,
    ),
    Rule(
        "TL440", "prompt-over-context", ERROR, ("service",),
        what="Prompt and answer do not fit the context. It is a warning when only the estimate says so.",
        why="The server refuses the request, or cuts the prompt and answers 200.",
        fix="Shorten the text, lower `max_tokens`, or raise `max_model_len`.",
        check=_over_context,
    ),
)  # fmt: skip
