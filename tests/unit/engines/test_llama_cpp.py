"""llama-server's launch and its config say the same; nothing is left out in silence."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.engines import llama_cpp
from governance.engines.keys import look, put
from governance.engines.llama_cpp_map import BOUND, SAMPLING
from governance.engines.llama_cpp_read import quantisation, single
from governance.engines.llama_cpp_values import per_sequence
from governance.engines.model import FROM_CONFIG, OptionTable
from governance.errors import Usage
from governance.values import ABSENT, Json, Tree, Unknown

NEWEST = "b10434"
BUILDS = ("b10068", "b10092", "b10434")


def config(version: str = NEWEST, **keys: Json) -> dict[str, Json]:
    """A base config with these dotted keys, `__` for a dot."""
    base: dict[str, Json] = {"model": {"id": "/m/tern.gguf"}}
    put(base, "engine.name", "llama.cpp")
    put(base, "engine.version", version)
    for key, value in keys.items():
        put(base, key.replace("__", "."), value)
    return base


def options(version: str = NEWEST, **values: Json) -> dict[str, Json]:
    return config(version, engine__options=dict(values))


def arguments(base: Tree) -> tuple[str, ...]:
    return llama_cpp.render(base, host="127.0.0.1", port=8080).argv


def value_of(base: Tree, key: str) -> object:
    return llama_cpp.engine_values(base)[key].value


# Words a config may hold for each option, beyond what its type says.
VALUES: dict[str, st.SearchStrategy[Json]] = {
    "engine.options.attention": st.sampled_from(["flash", "eager", "auto"]),
    "engine.options.split_mode": st.sampled_from(["none", "layer", "row"]),
    "engine.options.numa": st.sampled_from(["distribute", "isolate"]),
    "engine.options.chat_template_engine": st.sampled_from(["jinja", "builtin"]),
    "engine.options.tensor_split": st.lists(st.sampled_from([1.0, 2.5, 3.0]), min_size=1, max_size=3),
    "engine.options.override_tensor": st.just(["exps=CPU", "blk.1=CPU"]),
    "engine.options.gpu_layers": st.integers(-1, 99),
    "engine.options.speculative.gpu_layers": st.integers(-1, 99),
    "engine.options.speculative.method": st.sampled_from(["draft-simple", "ngram-simple"]),
    "engine.options.rope.scaling": st.sampled_from(["linear", "yarn"]),
    "engine.options.reasoning_parser": st.just("deepseek"),
    "engine.options.served_model_name": st.sampled_from(["tern", ["a", "b"]]),
    "engine.options.slot_prompt_similarity": st.sampled_from([0.0, 0.25, 0.5]),
}
BOOLEANS = (
    "_caching",
    "batching",
    "kv_",
    "shift",
    "swa_full",
    "repack",
    "op_offload",
    "mmap",
    "mlock",
    "warmup",
)


def a_value(key: str) -> st.SearchStrategy[Json]:
    if key in VALUES:
        return VALUES[key]
    if key.startswith("engine.options.rope.") and not key.endswith("original_max_position"):
        return st.sampled_from([0.5, 2.0, 10000.0])
    if key.endswith("threshold"):
        return st.sampled_from([0.25, 0.5])
    if key.endswith(("offload", *BOOLEANS)) or any(part in key for part in BOOLEANS):
        return st.booleans()
    if key.endswith(("model", "file")):
        return st.just("/m/other.gguf")
    return st.integers(1, 4096)


ONE_WAY = {"engine.options.swa_full", "engine.options.mlock"}  # switches without a negation


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Json]:
    base = config()
    for key in draw(st.sets(st.sampled_from(sorted(BOUND)), max_size=8)):
        put(base, key, True if key in ONE_WAY else draw(a_value(key)))
    if draw(st.booleans()):
        put(base, "engine.options.max_num_seqs", draw(st.integers(1, 16)))
    if draw(st.booleans()):
        put(base, "engine.options.max_model_len", 256 * draw(st.integers(1, 64)))
    if draw(st.booleans()):
        put(base, "precision.kv_cache.dtype", draw(st.sampled_from(["f16", "q8_0", "q4_0"])))
    if draw(st.booleans()):
        put(base, "engine.options.generation_overrides.temperature", draw(st.sampled_from([0.5, 0.7])))
    if draw(st.booleans()):
        put(base, "engine.extra.fit-ctx", draw(st.integers(1, 4096)))
    return base


@given(configs())
def test_importing_what_was_rendered_gives_the_same_config(base: dict[str, Json]) -> None:
    launch = llama_cpp.render(base, host="127.0.0.1", port=8080)
    found = llama_cpp.parse(launch.argv, launch.environment)
    assert found.findings == ()
    expected = {key: value for key, value in base.items() if key != "engine"}
    put(expected, "model.weights.format", "gguf")
    engine = base["engine"]
    assert isinstance(engine, Mapping)
    expected["engine"] = {key: value for key, value in engine.items() if key != "version"}
    assert found.base == expected


@given(configs())
def test_the_values_of_an_imported_launch_are_those_of_the_config(base: dict[str, Json]) -> None:
    """A server's process is compared with the config: the two must not disagree by themselves."""
    launch = llama_cpp.render(base, host="127.0.0.1", port=8080)
    again = dict(llama_cpp.parse(launch.argv, launch.environment).base)
    put(again, "engine.version", NEWEST)
    left = {key: value.value for key, value in llama_cpp.engine_values(base).items()}
    right = {key: value.value for key, value in llama_cpp.engine_values(again).items()}
    assert left.keys() == right.keys()
    assert [k for k in left if not isinstance(left[k], Unknown) and left[k] != right[k]] == []


@pytest.mark.parametrize("version", BUILDS)
@pytest.mark.parametrize("key", sorted(BOUND))
def test_every_bound_key_names_an_option_of_every_build(key: str, version: str) -> None:
    table = llama_cpp.table(version)
    assert isinstance(table, OptionTable)
    flags = {flag for option in table.options.values() for flag in option.flags}
    assert BOUND[key] in flags


@pytest.mark.parametrize("version", BUILDS)
def test_every_sampling_key_names_an_option_of_every_build(version: str) -> None:
    table = llama_cpp.table(version)
    assert isinstance(table, OptionTable)
    flags = {flag for option in table.options.values() for flag in option.flags}
    assert [key for key, (flag, _) in SAMPLING.items() if flag not in flags] == []


@pytest.mark.parametrize(
    ("total", "slots", "unified", "each"),
    [
        (8192, 8, False, 1024),
        (1000, 3, False, 512),
        (769, 3, False, 512),
        (2000, 2, False, 1024),
        (2000, 2, True, 2048),
        (8192, 1, False, 8192),
    ],
)
def test_the_context_of_a_slot_is_what_the_server_was_measured_to_give(
    total: int, slots: int, *, unified: bool, each: int
) -> None:
    assert per_sequence(total, slots, unified=unified) == each


def test_a_context_size_on_the_command_line_is_shared_by_the_slots() -> None:
    """`-c 8192 -np 8` gives each request 1024 tokens: the surprise behind prompts cut in silence."""
    shared = llama_cpp.parse(["llama-server", "-m", "x.gguf", "-c", "8192", "-np", "8"], {}).base
    assert look(shared, "engine.options.max_model_len") == 1024
    unified = llama_cpp.parse(["llama-server", "-m", "x.gguf", "-c", "8192", "-np", "8", "-kvu"], {}).base
    assert look(unified, "engine.options.max_model_len") == 8192


@pytest.mark.parametrize(
    ("line", "key", "expected"),
    [
        ("-ctk q4_0 -ctv q4_0", "precision.kv_cache.dtype", "q4_0"),
        ("-ctk q8_0", "precision.kv_cache.key_dtype", "q8_0"),
        ("--cache_type_v q8_0", "precision.kv_cache.value_dtype", "q8_0"),
        ("-fa on", "engine.options.attention", "flash"),
        ("-fa off", "engine.options.attention", "eager"),
        ("-fa -ngl 99", "engine.options.attention", "flash"),
        ("-fa", "engine.options.attention", "flash"),
        ("-ngl all", "engine.options.gpu_layers", -1),
        ("-ngl 99", "engine.options.gpu_layers", 99),
        ("--n-gpu-layers 20", "engine.options.gpu_layers", 20),
        ("--no-cache-prompt", "engine.options.prefix_caching", False),
        ("-nocb", "engine.options.continuous_batching", False),
        ("-nkvo", "engine.options.kv_offload", False),
        ("--no-jinja", "engine.options.chat_template_engine", "builtin"),
        ("-ts 3,1", "engine.options.tensor_split", [3.0, 1.0]),
        ("-b 512 -b 1024", "engine.options.max_num_batched_tokens", 1024),
        ("-t 4", "engine.options.threads", 4),
        ("--alias tern", "engine.options.served_model_name", "tern"),
        ("--spec-type draft-simple -md d.gguf", "engine.options.speculative.model", "d.gguf"),
        ("--poll 10", "engine.extra.poll", 10),
        ("-ot a=CPU -ot b=CPU", "engine.options.override_tensor", ["a=CPU", "b=CPU"]),
        ("--lora /l/x.gguf", "model.adapters", [{"name": "x", "path": "/l/x.gguf"}]),
        ("--lora-scaled /l/x.gguf:0.5", "model.adapters", [{"name": "x", "path": "/l/x.gguf", "scale": 0.5}]),
        ("--rope-scaling yarn --rope-scale 4", "engine.options.rope.factor", 4.0),
    ],
)
def test_flags_are_read_in_every_spelling(line: str, key: str, expected: Json) -> None:
    found = llama_cpp.parse(["./llama-server", "-m", "x.gguf", *line.split()], {})
    assert found.findings == ()
    assert look(found.base, key) == expected


def test_sampling_flags_are_defaults_of_the_server_and_values_of_the_sampling_tier() -> None:
    line = "--temp 0.9 --top-k 20 --samplers top_k;temperature --dry-multiplier 0.5 -s 7"
    found = llama_cpp.parse(["llama-server", "-m", "x.gguf", *line.split()], {})
    drawn = {
        "temperature": 0.9,
        "top_k": 20,
        "samplers": ["top_k", "temperature"],
        "dry": {"multiplier": 0.5},
    }
    assert found.sampling == drawn
    assert look(found.base, "engine.options.generation_overrides") == drawn
    assert look(found.base, "engine.options.seed") == 7


def test_a_flag_wins_over_a_variable_as_in_the_server() -> None:
    environment = {
        "LLAMA_ARG_CTX_SIZE": "2048",
        "LLAMA_ARG_N_PARALLEL": "1",
        "LLAMA_ARG_NO_CACHE_PROMPT": "1",
    }
    found = llama_cpp.parse(["llama-server", "-m", "x", "-c", "4096"], environment)
    assert look(found.base, "engine.options.max_model_len") == 4096
    assert look(found.base, "engine.options.prefix_caching") is False


def test_keys_ports_and_logs_are_not_taken_over() -> None:
    line = "--api-key sk-do-not-keep --host 0.0.0.0 --port 80 --metrics --log-file x.log"
    found = llama_cpp.parse(["llama-server", "-m", "x", *line.split()], {"HF_TOKEN": "hf-do-not-keep"})
    assert found.findings == ()
    assert "do-not-keep" not in repr(found)
    assert look(found.base, "engine.extra") is ABSENT


def test_what_is_no_option_or_no_value_is_a_finding_and_not_taken_over() -> None:
    line = "--no-such-flag 5 -c many -fa sometimes stray"
    found = llama_cpp.parse(["llama-server", "-m", "x", *line.split()], {})
    said = " ".join(finding.message for finding in found.findings)
    assert "`--no-such-flag`" in said
    assert "`many` is not a number" in said
    assert "`sometimes` is not one of on, off, auto" in said
    assert "`stray` belongs to no option" in said
    assert look(found.base, "engine.options") is ABSENT


def test_a_hub_name_gives_model_and_quantisation() -> None:
    found = llama_cpp.parse(["llama-server", "-hf", "ggml-org/tern-GGUF:Q4_K_M"], {})
    assert look(found.base, "model.id") == "ggml-org/tern-GGUF"
    assert look(found.base, "precision.weights.type") == "q4_k_m"


def test_what_a_bare_launch_leaves_open_is_listed_with_what_to_write() -> None:
    opened = {one.key: one for one in llama_cpp.parse(["llama-server", "-m", "x.gguf"], {}).left_open}
    assert {
        "base: engine.version",
        "base: engine.options.max_model_len",
        "base: engine.options.threads",
        "base: engine.options.attention",
        "base: precision.kv_cache.dtype",
        "sampling: seed",
    } <= set(opened)
    assert "max_model_len" in opened["base: engine.options.max_model_len"].suggestion


@pytest.mark.parametrize(
    ("base", "where"),
    [
        (options(gpu_memory_utilization=0.9), "engine.options.gpu_memory_utilization"),
        (options(tensor_parallel_size=2), "engine.options.tensor_parallel_size"),
        (options(generation_config="engine"), "engine.options.generation_config"),
        (options(generation_overrides={"top_a": 0.5}), "engine.options.generation_overrides.top_a"),
        (config(engine__extra={"no-such": 1}), "engine.extra.no-such"),
        (config(engine__extra={"batch-size": 1}), "engine.extra.batch-size"),
        (config("b1"), "engine.version"),
        (config(model={"id": "acme/tern", "revision": "a" * 40}), "model.revision"),
    ],
)
def test_a_config_the_server_cannot_be_told_is_refused_by_its_key(base: Tree, where: str) -> None:
    """A launch that leaves a key out runs something else than the repository says."""
    with pytest.raises(Usage) as caught:
        arguments(base)
    assert caught.value.where == where


def test_values_that_ask_for_nothing_are_accepted() -> None:
    base = options(tensor_parallel_size=1, generation_config="auto", batch_invariant=False)
    assert "--model" in arguments(base)


def test_machine_dependent_defaults_are_unknown_and_say_what_decides() -> None:
    values = llama_cpp.engine_values(options())
    for key in ("max_model_len", "threads", "threads_batch", "attention", "gpu_layers"):
        assert isinstance(values[f"engine.options.{key}"].value, Unknown), key
    assert values["engine.options.gpu_layers"].provenance == "depends on the GPU"
    assert value_of(options(attention="auto"), "engine.options.attention") is not ABSENT
    assert isinstance(value_of(options(attention="auto"), "engine.options.attention"), Unknown)


def test_without_a_gpu_no_layer_is_offloaded() -> None:
    assert value_of(config(hardware__device="cpu"), "engine.options.gpu_layers") == 0


def test_variables_of_the_config_count_below_its_flags() -> None:
    base = config(environment__variables={"LLAMA_ARG_THREADS": "3", "LLAMA_ARG_BATCH": "64"})
    put(base, "engine.options.max_num_batched_tokens", 128)
    values = llama_cpp.engine_values(base)
    assert values["engine.options.threads"].value == 3
    assert values["engine.options.threads"].provenance == FROM_CONFIG
    assert "LLAMA_ARG_THREADS" in values["engine.options.threads"].note
    assert values["engine.options.max_num_batched_tokens"].value == 128


def test_a_variable_set_at_deploy_time_is_unknown() -> None:
    base = config(environment__variables={"LLAMA_ARG_CACHE_TYPE_K": "env:CACHE_TYPE"})
    assert isinstance(value_of(base, "precision.kv_cache.dtype"), Unknown)


def test_the_gguf_may_carry_sampling_defaults_and_an_unread_one_is_unknown() -> None:
    base = options()
    unread = llama_cpp.sampling_defaults(base, ABSENT)
    assert isinstance(unread["temperature"].value, Unknown)
    assert "general.sampling.temp" in unread["temperature"].provenance
    assert unread["frequency_penalty"].value == 0.0  # no metadata key for it
    none = llama_cpp.sampling_defaults(base, {})
    assert none["temperature"].value == 0.8
    assert none["temperature"].provenance == "engine default (llama.cpp b10434)"
    some = llama_cpp.sampling_defaults(base, {"general.sampling.temp": 0.6})
    assert (some["temperature"].value, some["temperature"].provenance) == (0.6, "metadata of the GGUF")
    flag = llama_cpp.sampling_defaults(
        options(generation_overrides={"temperature": 0.3}), {"general.sampling.temp": 0.6}
    )
    assert flag["temperature"].value == 0.3


def test_a_generation_config_of_the_hub_says_nothing_about_a_gguf() -> None:
    """llama.cpp does not read the file; taking its values would be a guess."""
    found = llama_cpp.sampling_defaults(options(), {"temperature": 0.7, "top_p": 0.8})
    assert isinstance(found["temperature"].value, Unknown)


def test_an_upgrade_moves_a_default_and_it_is_seen() -> None:
    """b10092 looked for repeats in the whole context, b10434 in the last 64 tokens."""
    old, new = (llama_cpp.sampling_defaults(options(version), {}) for version in ("b10092", "b10434"))
    moved = [
        key for key in new if not isinstance(new[key].value, Unknown) and new[key].value != old[key].value
    ]
    assert moved == ["dry.penalty_last_n"]
    assert (old[moved[0]].value, new[moved[0]].value) == (-1, 64)


def test_a_build_older_than_every_table_is_unknown() -> None:
    assert all(
        isinstance(v.value, Unknown) for v in llama_cpp.sampling_defaults(options("b9000"), {}).values()
    )
    values = llama_cpp.engine_values(options("b9000", threads=2))
    assert values["engine.options.threads"].value == 2
    assert isinstance(values["engine.options.repack"].value, Unknown)


def test_a_build_between_two_tables_is_answered_by_the_lower_one() -> None:
    found = llama_cpp.sampling_defaults(options("b10200"), {})
    assert found["top_p"].provenance == "engine default (llama.cpp b10092)"


@pytest.mark.parametrize(
    ("shown", "meant"),
    [
        (0.800000011920929, 0.8),
        (0.949999988079071, 0.95),
        (0.05000000074505806, 0.05),
        (1.0, 1.0),
        (0.0, 0.0),
    ],
)
def test_a_float_of_the_server_is_read_as_the_decimal_that_was_meant(shown: float, meant: float) -> None:
    assert single(shown) == meant


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_short_decimal_is_the_same_32_bit_float(value: float) -> None:
    assert struct.pack("f", single(value)) == struct.pack("f", value)
    if abs(value) < 1e9:
        assert len(repr(single(value))) <= len(repr(value))


@pytest.mark.parametrize("value", [1e300, -1e39])
def test_a_number_no_32_bit_float_holds_stays_as_it_is(value: float) -> None:
    assert single(value) == value


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("Q4_1", "q4_1"),
        ("Q4_K - Medium", "q4_k_m"),
        ("Q3_K - Small", "q3_k_s"),
        ("F16", "f16"),
        ("BF16", "bf16"),
    ],
)
def test_the_type_of_the_weights_is_named_as_files_name_it(kind: str, name: str) -> None:
    assert quantisation(kind) == name


def test_a_type_the_server_cannot_name_is_unknown() -> None:
    assert isinstance(quantisation("unknown, may not work"), Unknown)
    assert isinstance(quantisation(None), Unknown)


def test_a_server_without_props_shows_nothing_and_says_why() -> None:
    read = llama_cpp.read_back(lambda path: Unknown(f"GET {path}: HTTP 401"))
    assert set(read) == llama_cpp.observable(NEWEST)
    assert all(isinstance(seen.value, Unknown) and "401" in seen.value.reason for seen in read.values())


@pytest.mark.parametrize(
    ("build", "version", "commit"),
    [
        ("b10434-7e4c0a9", "b10434", "7e4c0a9"),
        ("b1-7e4c0a9", "b10434", "7e4c0a9"),
        ("b1-3ce7da2", "b10092", "3ce7da2"),
    ],
)
def test_the_commit_names_the_build_where_the_number_does_not(build: str, version: str, commit: str) -> None:
    read = llama_cpp.read_back(lambda path: {"build_info": build} if path == "/props" else Unknown("no"))
    assert (read["engine.version"].value, read["engine.commit"].value) == (version, commit)


@pytest.mark.parametrize("build", ["b1-0000000", "b0-unknown", ""])
def test_an_unnamed_build_is_unknown(build: str) -> None:
    read = llama_cpp.read_back(lambda path: {"build_info": build} if path == "/props" else Unknown("no"))
    assert isinstance(read["engine.version"].value, Unknown)
