"""TensorRT-LLM: launch, import, and what little can be said without its package.

- Its wheel is not on the package index (the distribution there is a stub that fetches it from elsewhere),
  so no option table is shipped: `table` is unknown, and with it every default. Only what a config says is a
  value.
- The flags of `trtllm-serve` below are those its documentation names for 0.18 to 1.2, with their types.
- Further options are given as a file (`--extra_llm_api_options`, in newer versions `--config`):
  `read_options` reads its contents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from governance.engines.argparse_launch import Vocabulary, arguments, extras_of, keys_of, options_of
from governance.engines.argparse_line import Spellings, merged, read
from governance.engines.bindings import UNLESS_NONE, Binding, Part, bound
from governance.engines.keys import leaves, look, put
from governance.engines.model import (
    FROM_CONFIG,
    Get,
    Imported,
    Launch,
    Observed,
    Open,
    Option,
    OptionTable,
    from_unknown,
)
from governance.engines.read_back import at
from governance.errors import Usage
from governance.tiers.rules.variables import classify
from governance.values import ABSENT, Absent, Effect, Json, Tree, Unknown
from governance.verdict import EffectiveValue, Finding, Severity

NAME: Final = "tensorrt-llm"
PROGRAMS: Final = ("trtllm-serve", "tensorrt_llm.commands.serve")
VARIABLES: Final = ("TRTLLM_", "TLLM_", "CUDA_", "NVIDIA_", "NCCL_", "OMPI_")
NO_TABLE: Final = "TensorRT-LLM's package is not on the package index: its options and defaults were not read"
_O: Final = "engine.options."
_FILES: Final = ("extra_llm_api_options", "config", "extra_engine_args")


def _flag(name: str, kind: str = "str", *others: str) -> Option:
    return Option(name, (f"--{name}", *(f"--{o}" for o in others)), type=kind, default=Unknown(NO_TABLE))


# What `trtllm-serve serve` is told on its command line.
FLAGS: Final[dict[str, Option]] = {
    option.name: option
    for option in (
        _flag("tokenizer"), _flag("host"), _flag("port", "int"), _flag("backend"), _flag("log_level"),
        _flag("max_beam_width", "int"), _flag("max_batch_size", "int"), _flag("max_num_tokens", "int"),
        _flag("max_seq_len", "int"), _flag("tp_size", "int", "tensor_parallel_size"),
        _flag("pp_size", "int", "pipeline_parallel_size"), _flag("ep_size", "int", "expert_parallel_size"),
        _flag("cp_size", "int", "context_parallel_size"), _flag("cluster_size", "int"),
        _flag("gpus_per_node", "int"), _flag("served_model_name"), _flag("revision"),
        _flag("custom_tokenizer"),
        _flag("kv_cache_free_gpu_memory_fraction", "float", "free_gpu_memory_fraction"),
        _flag("num_postprocess_workers", "int"), _flag("trust_remote_code", "bool"),
        _flag("enable_chunked_prefill", "bool"), _flag("reasoning_parser"), _flag("tool_parser"),
        _flag("chat_template"), _flag("metadata_server_config_file"), _flag("server_role"),
        _flag("extra_llm_api_options"), _flag("config"), _flag("otlp_traces_endpoint"),
    )
}  # fmt: skip
# What the options file holds beside what has a flag: sections are read whole.
SECTIONS: Final[dict[str, Option]] = {
    name: Option(name, (), type="json", default=Unknown(NO_TABLE))
    for name in ("kv_cache_config", "speculative_config", "quant_config", "moe_config", "cuda_graph_config")
}
TABLE: Final = OptionTable(NAME, "", {**FLAGS, **SECTIONS}, "documentation of trtllm-serve")

BINDINGS: Final[tuple[Binding, ...]] = (
    bound("model.revision"),
    bound("model.trust_remote_code"),
    bound("model.tokenizer.id", "tokenizer"),
    bound("precision.weights.method", "quantization", codec=UNLESS_NONE),
    bound(_O + "max_model_len", "max_seq_len"),
    bound(_O + "max_num_seqs", "max_batch_size"),
    bound(_O + "max_num_batched_tokens", "max_num_tokens"),
    bound(_O + "chunked_prefill", "enable_chunked_prefill"),
    bound(_O + "gpu_memory_utilization", "kv_cache_free_gpu_memory_fraction"),
    bound(_O + "tensor_parallel_size", "tp_size"),
    bound(_O + "pipeline_parallel_size", "pp_size"),
    bound(_O + "expert_parallel_size", "ep_size"),
    bound(_O + "context_parallel_size", "cp_size"),
    bound(_O + "reasoning_parser"),
    bound(_O + "tool_call_parser", "tool_parser"),
    bound(_O + "served_model_name"),
)
PARTS: Final[tuple[Part, ...]] = (
    Part("precision.kv_cache.dtype", "kv_cache_config", "dtype"),
    Part(_O + "prefix_caching", "kv_cache_config", "enable_block_reuse"),
    Part(_O + "block_size", "kv_cache_config", "tokens_per_block"),
    Part(_O + "gpu_memory_utilization", "kv_cache_config", "free_gpu_memory_fraction"),
    Part(_O + "moe_backend", "moe_config", "backend"),
)
# Names of the options file that a flag spells otherwise.
_FILE_NAMES: Final[dict[str, str]] = {
    "tensor_parallel_size": "tp_size",
    "pipeline_parallel_size": "pp_size",
    "moe_expert_parallel_size": "ep_size",
    "context_parallel_size": "cp_size",
}
WORDS: Final = Vocabulary(
    NAME,
    BINDINGS,
    parts=PARTS,
    operational=frozenset(
        {"host", "port", "log_level", "otlp_traces_endpoint", "num_postprocess_workers", *_FILES}
    ),
    special=frozenset({"chat_template"}),
)
_LEFT_OPEN: Final[dict[str, str]] = {
    "model.revision": "the default branch moves, and answers with it",
    "engine.version": "nothing says which version runs",
    "precision.kv_cache.dtype": "the checkpoint decides the cache's format",
    _O + "max_model_len": "the model's config.json decides it",
    _O + "max_num_seqs": "the default of the version decides the batch, and with it rounding",
    _O + "max_num_batched_tokens": "the default of the version decides the batch, and with it rounding",
    _O + "prefix_caching": "the default of the version decides whether prompts are reused",
    _O + "chunked_prefill": "the default of the version decides whether prompts are cut in pieces",
}


def table(version: str) -> OptionTable | Unknown:  # noqa: ARG001 - no version was read
    """Unknown: no package of TensorRT-LLM could be read."""
    return Unknown(NO_TABLE)


def sampling_defaults(
    base: Tree,  # noqa: ARG001 - no version was read
    generation_config: Tree | Unknown | Absent,  # noqa: ARG001
) -> Mapping[str, EffectiveValue]:
    """Each decoding parameter of its API as unknown: what a request leaves out is not known here."""
    keys = (
        *("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty"),
        *(
            "frequency_penalty",
            "seed",
            "max_tokens",
            "min_tokens",
            "n",
            "stop",
            "stop_token_ids",
            "beam.width",
        ),
    )
    return {key: EffectiveValue(key, Unknown(NO_TABLE), ABSENT, from_unknown(NO_TABLE)) for key in keys}


def engine_values(base: Tree) -> Mapping[str, EffectiveValue]:
    """What the config declares; every other value is unknown."""
    found: dict[str, EffectiveValue] = {}
    for key in (*(b.key for b in BINDINGS), *(p.key for p in PARTS)):
        said = look(base, key)
        if said is ABSENT:
            found[key] = EffectiveValue(key, Unknown(NO_TABLE), ABSENT, from_unknown(NO_TABLE))
        else:
            found[key] = EffectiveValue(key, said, said, FROM_CONFIG)
    return found


def render(base: Tree, *, host: str, port: int, weights: str | None = None) -> Launch:
    """The launch `base` asks for. Raises `Usage` for what only the options file can say, or nothing can."""
    found = options_of(base, TABLE, WORDS)
    extras_of(base, TABLE, WORDS, found)
    sections = {name: found.pop(name) for name in list(found) if name in SECTIONS}
    _refuse_sections(sections)
    declared = look(base, "environment.variables")
    environment = {k: str(v) for k, v in declared.items()} if isinstance(declared, Mapping) else {}
    model = weights or str(look(base, "model.id"))
    argv = ("trtllm-serve", "serve", model, "--host", host, "--port", str(port))
    return Launch((*argv, *arguments(found, TABLE, WORDS)), environment)


def _refuse_sections(sections: Mapping[str, Json]) -> None:
    for name, value in sections.items():
        keys = ", ".join(f"`{key}`" for key, _ in leaves({name: value}))
        raise Usage(
            f"trtllm-serve is told {keys} in a file only",
            where=name,
            hint="write the file and name it in `engine.extra`: {config: options.yaml}",
        )


def parse(argv: Sequence[str], environment: Mapping[str, str], *, version: str = "") -> Imported:  # noqa: ARG001
    """The tiers a launch describes; what its options file holds is left open."""
    line = read(list(_own_arguments(argv)), Spellings(TABLE))
    base, extra = keys_of(line.values, TABLE, WORDS)
    put(base, "engine.name", NAME)
    if line.words:
        put(base, "model.id", line.words[0])
    kept = {n: v for n, v in sorted(environment.items()) if classify(n) in ("output", "latency")}
    if kept:
        put(base, "environment.variables", dict(kept))
    if extra:
        put(base, "engine.extra", extra)
    template = line.values.get("chat_template")
    prompts: dict[str, Json] = {"chat_template": {"file": template}} if isinstance(template, str) else {}
    findings = [
        Finding("TL290", message, severity=Severity.WARNING)
        for message in (
            *line.problems,
            *(f"`{f}` is no option of trtllm-serve that is known" for f in line.unknown),
        )
    ]
    return Imported(base, {}, prompts, tuple(_open(base, line.values)), tuple(findings))


def read_options(document: Tree) -> dict[str, Json]:
    """The base tree an options file describes; what has no key of ours is in `engine.extra`."""
    values = {_FILE_NAMES.get(name, name): value for name, value in document.items()}
    held = values.get("quant_config")
    if isinstance(held, Mapping) and "quant_algo" in held:
        values["quantization"] = str(held["quant_algo"]).lower()
        values["quant_config"] = {k: v for k, v in held.items() if k != "quant_algo"}
    known = OptionTable(NAME, "", {**TABLE.options, "quantization": Option("quantization", ())}, "")
    base, extra = keys_of({k: v for k, v in values.items() if v not in (None, {})}, known, WORDS)
    put(base, "engine.name", NAME)
    if extra:
        put(base, "engine.extra", {k.replace("-", "_"): v for k, v in extra.items()})
    return base


def with_options(parsed: Imported, document: Tree) -> Imported:
    """A launch together with its options file, which counts where both speak."""
    base = merged(parsed.base, read_options(document))
    opened = tuple(o for o in parsed.left_open if o.key != "base: engine" and look(base, o.key[6:]) is ABSENT)
    return Imported(base, parsed.sampling, parsed.prompts, opened, parsed.findings)


def _own_arguments(argv: Sequence[str]) -> Iterator[str]:
    rest = list(argv)
    for index, word in enumerate(rest):
        if PurePosixPath(word).name in PROGRAMS:
            rest = rest[index + 1 :]
            break
        if word.startswith("-") and word != "-m":
            break
    yield from rest[1:] if rest[:1] == ["serve"] else rest


def _open(base: Tree, values: Mapping[str, Json]) -> Iterator[Open]:
    for key, reason in _LEFT_OPEN.items():
        if look(base, key) is ABSENT:
            yield Open(f"base: {key}", reason)
    for name in _FILES:
        if name in values:
            reason = f"`--{name} {values[name]}` names a file with more options"
            yield Open("base: engine", reason, Effect.OUTPUT, "import the launch together with that file")


def observable(version: str) -> frozenset[str]:  # noqa: ARG001 - the same for every version
    """The keys `read_back` can see: the server shows no configuration."""
    return frozenset({"engine.version", _O + "served_model_name"})


def read_back(get: Get) -> Mapping[str, Observed]:
    """The version and the name the server answers under."""
    found: dict[str, Observed] = {}
    version = at(get("/version"), "version")
    if isinstance(version, str):
        found["engine.version"] = Observed(version, "GET /version")
    data = at(get("/v1/models"), "data")
    name = at(data[0], "id") if isinstance(data, list) and data else ABSENT
    if isinstance(name, str):
        found[_O + "served_model_name"] = Observed(name, "GET /v1/models id")
    return found
