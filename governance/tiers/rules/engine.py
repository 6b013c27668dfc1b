"""Base tier, the launch: what is left open, said twice, unknown to the engine, or cannot start.

- Whether an option exists, at which version, with which type, is what the engine's own option table says.
  Without one nothing is assumed and the findings say that nothing was checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from governance.tiers.rules.model import (
    ERROR,
    NOTE,
    WARNING,
    Context,
    Hit,
    OptionFact,
    OptionFacts,
    Rule,
    section,
    text_at,
    whole,
)
from governance.values import Json, KeyPath, Tree, Unknown

_OPTIONS: Final[KeyPath] = ("engine", "options")
_READS_MODEL_FILE: Final = frozenset({"vllm", "sglang", "transformers"})
_HAS_PREFIX_CACHE: Final = frozenset({"vllm", "sglang", "tgi", "llama.cpp", "tensorrt-llm"})
_ATTENTION_VARIABLES: Final = frozenset(
    {"VLLM_ATTENTION_BACKEND", "OLLAMA_FLASH_ATTENTION", "LLAMA_ARG_FLASH_ATTN", "ATTENTION"}
)
_MOVING_VERSION: Final = re.compile(
    r"(?i)\A(?:latest|main|master|nightly|dev|stable|edge|head|rolling)\b|\A[^0-9]*\Z"
)
# Engine spellings of the common options: what `extra` should not be used for.
_COMMON: Final[dict[str, str]] = {
    "max_model_len": "max_model_len", "ctx_size": "max_model_len", "context_length": "max_model_len",
    "max_total_tokens": "max_model_len", "max_seq_len": "max_model_len", "num_ctx": "max_model_len",
    "max_num_seqs": "max_num_seqs", "max_running_requests": "max_num_seqs", "parallel": "max_num_seqs",
    "max_batch_size": "max_num_seqs", "max_num_batched_tokens": "max_num_batched_tokens",
    "max_prefill_tokens": "max_num_batched_tokens", "batch_size": "max_num_batched_tokens",
    "enable_prefix_caching": "prefix_caching", "disable_radix_cache": "prefix_caching",
    "cache_prompt": "prefix_caching", "attention_backend": "attention", "flash_attn": "attention",
    "enable_chunked_prefill": "chunked_prefill", "chunked_prefill_size": "chunk_size",
    "gpu_memory_utilization": "gpu_memory_utilization", "mem_fraction_static": "gpu_memory_utilization",
    "tensor_parallel_size": "tensor_parallel_size", "tp_size": "tensor_parallel_size",
    "num_shard": "tensor_parallel_size", "pipeline_parallel_size": "pipeline_parallel_size",
    "data_parallel_size": "data_parallel_size", "enable_expert_parallel": "expert_parallel",
    "enforce_eager": "enforce_eager", "generation_config": "generation_config",
    "sampling_defaults": "generation_config", "override_generation_config": "generation_overrides",
    "speculative_config": "speculative", "ubatch_size": "micro_batch_size", "block_size": "block_size",
    "threads": "threads", "threads_batch": "threads_batch", "n_gpu_layers": "gpu_layers", "gpu_layers":
    "gpu_layers",
    "context_shift": "context_shift", "swa_full": "swa_full", "enable_lora": "lora", "max_loras": "lora",
    "rope_scaling": "rope", "enable_deterministic_inference": "batch_invariant", "seed": "seed",
    "random_seed": "seed",
}  # fmt: skip
# The same, where the option is of another part of the base tier.
_ELSEWHERE: Final[dict[str, str]] = {
    "model": "model.id", "model_path": "model.id", "revision": "model.revision",
    "tokenizer": "model.tokenizer.id", "tokenizer_revision": "model.tokenizer.revision",
    "dtype": "precision.dtype", "quantization": "precision.weights.method", "quantize":
    "precision.weights.method",
    "kv_cache_dtype": "precision.kv_cache.dtype", "cache_type_k": "precision.kv_cache.key_dtype",
    "cache_type_v": "precision.kv_cache.value_dtype", "trust_remote_code": "model.trust_remote_code",
    "load_format": "model.weights.format", "hf_overrides": "model.config_overrides",
}  # fmt: skip


def _near(context: Context) -> KeyPath:
    """Where a missing option is reported: at `engine.options`, at the engine's name without them."""
    return _OPTIONS if context.options else ("engine", "name")


def _attention(context: Context) -> Iterator[Hit]:
    attention = context.options.get("attention")
    if attention == "auto":
        yield Hit(
            "`attention: auto` is decided by the GPU and by the packages installed", (*_OPTIONS, "attention")
        )
    elif attention is None and not _ATTENTION_VARIABLES.intersection(
        section(context.tree, "environment", "variables")
    ):
        yield Hit(
            "`attention` is not set: the GPU and the packages installed decide the kernel",
            _near(context),
            "write the backend the server logs when it starts",
        )


def _prefix_caching(context: Context) -> Iterator[Hit]:
    if "prefix_caching" not in context.options and context.engine in _HAS_PREFIX_CACHE:
        yield Hit(
            "`prefix_caching` is not set: the engine's default changed between versions", _near(context)
        )


def _context_length(context: Context) -> Iterator[Hit]:
    if "max_model_len" not in context.options:
        cut = context.engine == "ollama"
        yield Hit(
            "`max_model_len` is not set: "
            + (
                "longer prompts are cut and the server still answers 200"
                if cut
                else "the model's file decides it"
            ),
            _near(context),
            "write the context length that was evaluated",
        )


def _generation_config(context: Context) -> Iterator[Hit]:
    if context.engine not in _READS_MODEL_FILE:
        return
    policy = context.options.get("generation_config")
    if policy is None:
        yield Hit(
            "`generation_config` is not set: the engine may take sampling defaults from the model's own file",
            _near(context),
            "write `engine` to ignore the file, or `auto` and keep it in `model.generation_config`",
        )
    elif policy == "auto" and "generation_config" not in section(context.tree, "model"):
        yield Hit(
            "`generation_config: auto` reads a file that is in no fingerprint",
            (*_OPTIONS, "generation_config"),
            "keep the model's file beside the config: `model.generation_config: {file: "
            "generation_config.json}`",
        )


def option_name(text: str) -> str:
    """An option as tables spell it: no leading dashes, underscores inside."""
    return text.lstrip("-").replace("-", "_")


_INDEX: dict[int, tuple[OptionFacts, Mapping[str, OptionFact]]] = {}


def _index(table: OptionFacts) -> Mapping[str, OptionFact]:
    """Each spelling of each option of `table`; kept, because thousands of configs share a table."""
    kept = _INDEX.get(id(table))
    if kept is not None and kept[0] is table:
        return kept[1]
    index: dict[str, OptionFact] = {}
    for name, option in table.options.items():
        for spelling in (name, option.name, *option.flags, *([option.negation] if option.negation else [])):
            index.setdefault(option_name(spelling), option)
    _INDEX[id(table)] = (table, index)
    return index


def _table(context: Context) -> OptionFacts | Unknown | None:
    if context.facts is None:
        return None
    return context.facts.table(context.engine, text_at(context.tree, "engine", "version"))


def _unknown_option(context: Context) -> Iterator[Hit]:
    extra = section(context.tree, "engine", "extra")
    table = _table(context) if extra else None
    if table is None or isinstance(table, Unknown):
        return
    index = _index(table)
    for name in extra:
        if option_name(name) not in index:
            near = _nearest(option_name(name), index)
            yield Hit(
                f"`{name}` is no option of {context.engine} {table.version}",
                ("engine", "extra", name),
                f"did you mean `{near}`?" if near else "",
                on_key=True,
            )


def _nearest(name: str, index: Mapping[str, OptionFact]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, index, n=1, cutoff=0.75)
    return close[0].replace("_", "-") if close else ""


def _option_value(context: Context) -> Iterator[Hit]:
    extra = section(context.tree, "engine", "extra")
    table = _table(context) if extra else None
    if table is None or isinstance(table, Unknown):
        return
    index = _index(table)
    for name, value in extra.items():
        option = index.get(option_name(name))
        fault = _value_fault(option, value) if option is not None else ""
        if fault:
            yield Hit(f"`{name}` {fault}", ("engine", "extra", name))


def _value_fault(option: OptionFact, value: Json) -> str:
    """Why `value` is no value of `option`, as the end of a sentence; empty when it is, or may be."""
    kind = option.type
    if kind == "bool" and not isinstance(value, bool):
        return "is a switch: write true or false"
    if kind == "int" and whole(value) is None:
        return "takes an integer"
    if kind == "float" and (isinstance(value, bool) or not isinstance(value, int | float)):
        return "takes a number"
    if kind == "str" and isinstance(value, dict | list):
        return "takes one text"
    if option.choices is None or isinstance(value, dict) or kind == "bool":
        return ""
    given = value if isinstance(value, list) else [value]
    wrong = next((item for item in given if str(item) not in option.choices), None)
    if wrong is None:
        return ""
    shown = ", ".join(option.choices[:12]) + (", …" if len(option.choices) > 12 else "")
    return f"cannot be `{wrong}`; choose from {shown}"


def _said_twice(context: Context) -> Iterator[Hit]:
    options = context.options
    for name in section(context.tree, "engine", "extra"):
        common = _COMMON.get(option_name(name))
        elsewhere = _ELSEWHERE.get(option_name(name))
        at: KeyPath = ("engine", "extra", name)
        if common is not None:
            twice = common in options
            yield Hit(
                f"`{name}` is `engine.options.{common}`" + (", which is set too" if twice else ""),
                at,
                f"keep `engine.options.{common}` only",
                on_key=True,
                severity=ERROR if twice else WARNING,
            )
        elif elsewhere is not None:
            twice = bool(_value_at(context.tree, elsewhere))
            yield Hit(
                f"`{name}` is `{elsewhere}`" + (", which is set too" if twice else ""),
                at,
                f"keep `{elsewhere}` only",
                on_key=True,
                severity=ERROR if twice else WARNING,
            )


def _value_at(tree: Tree, path: str) -> Json:
    *parents, last = path.split(".")
    return section(tree, *parents).get(last)


def _version_moving(context: Context) -> Iterator[Hit]:
    engine = section(context.tree, "engine")
    version = text_at(engine, "version")
    if "commit" not in engine and _MOVING_VERSION.search(version):
        yield Hit(
            f"`{version}` names another engine every week", ("engine", "version"), "write a released version"
        )


def _version_unknown(context: Context) -> Iterator[Hit]:
    extra = section(context.tree, "engine", "extra")
    table = _table(context) if extra else None
    version = text_at(context.tree, "engine", "version")
    if isinstance(table, Unknown):
        yield Hit(
            f"the {len(extra)} options in `extra` are not checked: {table.reason}",
            ("engine", "version"),
            severity=WARNING,
        )
    elif table is not None and table.version != version:
        yield Hit(
            f"options are checked against {context.engine} {table.version}, the nearest version known "
            f"below {version}",
            ("engine", "version"),
        )


def _parallel(context: Context) -> Iterator[Hit]:
    options, hardware = context.options, section(context.tree, "hardware")
    count = whole(hardware.get("count"))
    degrees = [whole(options.get(f"{kind}_parallel_size")) or 1 for kind in ("tensor", "pipeline", "context")]
    shared = options.get("data_parallel_attention") is True
    replicas = 1 if shared else whole(options.get("data_parallel_size")) or 1
    wanted = degrees[0] * degrees[1] * degrees[2] * replicas
    if count is None or wanted == 1:
        return
    devices = count * (whole(hardware.get("nodes")) or 1)
    if devices % wanted:
        key = next(
            (k for k in ("tensor", "pipeline", "data", "context") if f"{k}_parallel_size" in options),
            "tensor",
        )
        yield Hit(
            f"the launch spreads over {wanted} devices and `hardware` has {devices}",
            (*_OPTIONS, f"{key}_parallel_size"),
            "the parallel degrees multiplied must divide the number of devices",
        )


def _rewritten(context: Context) -> Iterator[Hit]:
    options = context.options
    if options.get("context_shift") is True:
        yield Hit(
            "`context_shift` drops the oldest half of a full context and goes on answering",
            (*_OPTIONS, "context_shift"),
        )
    if (whole(options.get("cache_reuse")) or 0) > 0:
        yield Hit(
            "`cache_reuse` shifts cached keys to other positions, which changes answers",
            (*_OPTIONS, "cache_reuse"),
        )


def _quantisation(context: Context) -> Iterator[Hit]:
    method = text_at(context.tree, "precision", "weights", "method")
    if not method or method in {"none", "gguf"} or context.facts is None:
        return
    table = _table(context)
    if table is None or isinstance(table, Unknown):
        return
    option = table.options.get("quantization") or table.options.get("quantize")
    if option is None or not option.choices:
        return
    if method.replace("-", "_").lower() not in {
        choice.replace("-", "_").lower() for choice in option.choices
    }:
        yield Hit(
            f"{context.engine} {table.version} has no quantisation `{method}`; it has "
            f"{', '.join(option.choices)}",
            ("precision", "weights", "method"),
        )


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "TL230", "attention-open", WARNING, ("base",),
        what="The attention kernel is `auto` or not set.",
        why="A package upgrade or another GPU changes what `auto` picks, and with it the rounding of every "
        "token.",
        fix="Write the backend: `FLASH_ATTN`, `FLASHINFER`, `TRITON_ATTN`, `flash`.",
        check=_attention, needs="engine",
    ),
    Rule(
        "TL231", "prefix-caching-open", WARNING, ("base",),
        what="Nothing says whether computed prompts are reused.",
        why="A cache hit computes other batch shapes than a miss, and engines changed their default.",
        fix="Write `engine.options.prefix_caching: true` or `false`.",
        check=_prefix_caching, needs="engine",
    ),
    Rule(
        "TL232", "context-length-open", WARNING, ("base",),
        what="`max_model_len` is not set.",
        why="The context length then comes from the model, the memory or the engine's default; some servers "
        "cut a "
        "longer prompt, losing the system text first, and answer 200.",
        fix="Write `engine.options.max_model_len`.",
        check=_context_length, needs="engine",
    ),
    Rule(
        "TL233", "generation-config-open", WARNING, ("base",),
        what="Nothing says whether the engine may take sampling defaults from the model's "
        "`generation_config.json`; "
        "or it may, and the file is not kept beside the config.",
        why="An engine upgrade that began to read this file changed top_p, top_k and the repetition penalty "
        "of "
        "services whose configs had not moved.",
        fix="Write `engine.options.generation_config: engine` to ignore the file, or `auto` with "
        "`model.generation_config: {file: generation_config.json}`.",
        check=_generation_config, needs="engine",
    ),
    Rule(
        "TL234", "unknown-engine-option", ERROR, ("base",),
        what="An option in `engine.extra` that the engine does not have at this version.",
        why="The server does not start, or an upgrade dropped the option and the behaviour with it.",
        fix="Correct the name, or remove the option. The table of options is read from the engine's own "
        "package.",
        check=_unknown_option, needs="engine.extra", engine=True,
    ),
    Rule(
        "TL235", "engine-option-value", ERROR, ("base",),
        what="A value in `engine.extra` has the wrong type, or is none of the option's choices.",
        why="The server does not start, or reads the value as something else.",
        fix="Write a value the option takes.",
        check=_option_value, needs="engine.extra", engine=True,
    ),
    Rule(
        "TL236", "option-said-twice", WARNING, ("base",),
        what="`engine.extra` holds an option that has a key of its own. It is an error when both are set.",
        why="Rules, risk texts and effective values look at the key; of two values the later flag wins.",
        fix="Move the value to the key named in the message.",
        check=_said_twice, needs="engine.extra",
    ),
    Rule(
        "TL237", "engine-version-moving", ERROR, ("base",),
        what="The engine's version is a moving name such as `latest` or `nightly`.",
        why="Defaults and kernels change between versions; the name hides it.",
        fix="Write the version the server reports, or add `engine.commit`.",
        check=_version_moving, needs="engine",
    ),
    Rule(
        "TL238", "engine-version-unknown", NOTE, ("base",),
        what="There is no option table for exactly this engine version: the nearest lower one was used, or "
        "none.",
        why="What was not checked must be seen.",
        fix="Nothing to mend in the config; a newer tierlock may know the version.",
        check=_version_unknown, needs="engine.extra", engine=True,
    ),
    Rule(
        "TL239", "parallel-degree", ERROR, ("base",),
        what="The parallel degrees do not divide the number of devices.",
        why="The server does not start, or leaves devices idle.",
        fix="Correct the degrees or `hardware.count`.",
        check=_parallel, needs="hardware.count",
    ),
    Rule(
        "TL240", "context-rewritten", WARNING, ("base",),
        what="The engine may drop or shift parts of the context while it answers.",
        why="The model answers a prompt that nobody wrote, with status 200.",
        fix="Write `context_shift: false` and leave `cache_reuse` out.",
        check=_rewritten, needs="engine.options",
    ),
    Rule(
        "TL241", "quantisation-unknown", ERROR, ("base",),
        what="The engine does not know the quantisation method at this version.",
        why="The server does not start.",
        fix="Write one of the methods in the message.",
        check=_quantisation, needs="precision.weights", engine=True,
    ),
)  # fmt: skip
