"""The real llama-server keeps the promises the llama.cpp module makes about it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import pytest

from governance.adapters.http import Client
from governance.adapters.processes import Program, free_port
from governance.engines import llama_cpp
from governance.engines.drift import PINNED, Drift, drift
from governance.engines.observe import Observation, engine_variable, observe, process_behind
from governance.engines.resolve import effective_tree, resolve
from governance.errors import Unreachable
from governance.values import Json, Tree, Unknown
from tests.support.llama_server import BASE, METADATA, SAMPLING, LlamaServer

Start = Callable[..., AbstractContextManager[LlamaServer]]


def look_at(server: LlamaServer, base: Tree = BASE) -> Observation:
    process = process_behind(server.url)
    engine = base["engine"]
    assert isinstance(engine, Mapping)
    return observe("llama.cpp", str(engine["version"]), server.url, http=server.client, process=process)


def compare(server: LlamaServer, base: Tree = BASE, sampling: Tree = SAMPLING) -> Drift:
    return drift(base, sampling, METADATA, look_at(server, base))


def with_options(**options: Json) -> dict[str, Json]:
    engine = BASE["engine"]
    assert isinstance(engine, Mapping)
    old = engine["options"]
    assert isinstance(old, Mapping)
    return {**BASE, "engine": {**engine, "options": {**old, **options}}}


def test_a_server_started_from_its_config_shows_no_difference(llama_server: LlamaServer) -> None:
    """The promise of the demo: repository and server have the same effective values, every one compared."""
    found = compare(llama_server)
    assert found.changes == ()
    assert found.notes == ()
    assert found.unseen == {}
    assert len(found.same) > 80
    assert effective_tree(found.values) == effective_tree(resolve(BASE, SAMPLING, METADATA))


def test_every_key_called_observable_is_read_over_http(llama_server: LlamaServer) -> None:
    read = llama_cpp.read_back(llama_server.client.get)
    assert set(read) == llama_cpp.observable("b10068")
    assert [key for key, seen in read.items() if isinstance(seen.value, Unknown)] == []
    assert all(seen.source.startswith("GET /") for seen in read.values())


def test_http_alone_does_not_tell_the_type_of_the_kv_cache(llama_server: LlamaServer) -> None:
    """If a build begins to tell it, this fails, and the process is no longer needed for it."""
    answers = [llama_server.client.get(path) for path in ("/props", "/slots", "/v1/models", "/lora-adapters")]
    assert not any("cache_type" in str(answer) or "type_k" in str(answer) for answer in answers)
    observation = observe("llama.cpp", "b10068", llama_server.url, http=llama_server.client)
    assert "precision.kv_cache.dtype" not in observation.values
    found = drift(BASE, SAMPLING, METADATA, observation)
    assert found.unseen["precision.kv_cache.dtype"] == "the server does not show it"


def test_a_quantised_cache_is_named_with_where_it_was_seen(start_llama: Start) -> None:
    with start_llama(arguments=["-ctk", "q4_0", "-ctv", "q4_0", "-fa", "on"]) as server:
        found = compare(server)
    (change,) = found.changes
    assert (change.layer, change.key) == ("effective", "precision.kv_cache.dtype")
    assert (change.before, change.after) == ("f16", "q4_0")
    assert change.before_from == "config"
    assert change.after_from == "command line of the server process"
    assert change.risk.value == "output"
    assert effective_tree(found.values) != effective_tree(resolve(BASE, SAMPLING, METADATA))


def test_another_default_of_a_pinned_parameter_is_a_note_and_of_an_inherited_one_a_change(
    start_llama: Start,
) -> None:
    with start_llama(arguments=["--temp", "0.9", "--top-k", "20"]) as server:
        found = compare(server)
    assert [(change.key, change.before, change.after) for change in found.changes] == [
        ("sampling.top_k", 40, 20)
    ]
    assert found.notes == (f"server default of `temperature` is 0.9, not 0.8: {PINNED}",)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("LLAMA_ARG_CACHE_TYPE_K", "q8_0", [("precision.kv_cache.dtype", {"key": "q8_0", "value": "f16"})]),
        ("LLAMA_ARG_CACHE_REUSE", "256", [("engine.options.cache_reuse", 256)]),
        ("LLAMA_ARG_UBATCH", "64", [("engine.options.micro_batch_size", 64)]),
        ("LLAMA_ARG_NO_REPACK", "1", [("engine.options.repack", False)]),
        ("LLAMA_ARG_CACHE_PROMPT", "off", []),
        ("LLAMA_ARG_MIN_P", "0.2", []),
    ],
)
def test_a_variable_of_the_server_counts_where_the_server_reads_it(
    start_llama: Start, name: str, value: str, expected: list[tuple[str, Json]]
) -> None:
    """A flag of the config wins over a variable; `LLAMA_ARG_MIN_P` is no variable of this build."""
    base = {**BASE, "precision": {"weights": {"method": "gguf", "type": "q4_1"}}}
    with start_llama(base=base, environment={name: value}) as server:
        found = compare(server, base)
    assert [(change.key, change.after) for change in found.changes] == expected


def test_the_context_of_one_sequence_is_what_the_config_says(start_llama: Start) -> None:
    """`--ctx-size` is the total of all slots; a config of 1000 tokens each is rounded up to 1024."""
    base = with_options(max_model_len=1000, max_num_seqs=3)
    with start_llama(base=base) as server:
        found = compare(server, base)
        props = server.client.get("/props")
    assert found.changes == ()
    assert isinstance(props, Mapping)
    assert props["total_slots"] == 3
    assert props["default_generation_settings"]["n_ctx"] == 1024  # type: ignore[index,call-overload]


def test_a_context_beyond_the_training_length_is_seen_to_be_cut(start_llama: Start) -> None:
    base = with_options(max_model_len=16384, max_num_seqs=1)
    with start_llama(base=base) as server:
        found = compare(server, base)
    assert [(c.key, c.before, c.after) for c in found.changes] == [
        ("engine.options.max_model_len", 16384, 8192)
    ]


def test_shared_and_automatic_slots_are_computed_as_the_server_does(start_llama: Start) -> None:
    engine = BASE["engine"]
    assert isinstance(engine, Mapping)
    base = {
        **BASE,
        "engine": {**engine, "options": {"max_model_len": 2000, "threads": 1, "attention": "flash"}},
    }
    with start_llama(base=base) as server:
        found = compare(server, base)
    assert found.changes == ()
    assert {"engine.options.max_num_seqs", "engine.options.max_model_len"} <= set(found.same)


def test_sampling_defaults_set_at_launch_reach_the_server(start_llama: Start) -> None:
    overrides: dict[str, Json] = {
        "temperature": 0.123456789,
        "min_p": 0.02,
        "dry": {"multiplier": 0.25, "penalty_last_n": 128},
        "xtc": {"probability": 0.1, "threshold": 0.2},
        "mirostat": {"mode": 2, "tau": 4.0, "eta": 0.2},
        "samplers": ["top_k", "temperature"],
        "repetition_window": 32,
    }
    base = with_options(generation_overrides=overrides, served_model_name=["small", "a-model"])
    with start_llama(base=base) as server:
        found = compare(server, base, {"kind": "sampling", "temperature": "inherit"})
    assert found.changes == ()
    assert "sampling.dry.penalty_last_n" in found.same
    assert "sampling.temperature" in found.same  # equal as the 32-bit float the server holds


def test_the_server_says_which_weights_and_template_it_runs(llama_server: LlamaServer) -> None:
    observation = look_at(llama_server)
    assert os.path.basename(str(observation.identity["weights"].value)).endswith(".gguf")  # noqa: PTH119
    assert str(observation.identity["chat_template_sha256"].value).startswith("sha256:872be49dbb63")
    assert observation.identity["build"].value == "b1-571d0d5"
    assert observation.version == "b10068"
    assert observation.values["precision.weights.type"].value == "q4_1"


def test_the_process_is_the_one_that_was_started_and_its_secrets_are_not_kept(start_llama: Start) -> None:
    hidden = {"LLAMA_API_KEY": "sk-do-not-keep", "HF_TOKEN": "hf-do-not-keep", "OTHER": "x"}
    with start_llama(environment={**hidden, "LLAMA_ARG_THREADS_HTTP": "2"}) as server:
        process = process_behind(server.url)
        assert isinstance(process, Program)
        assert process.pid == server.server.pid
        assert process.argv[0].endswith("llama-server")
        assert isinstance(process.started_at, float)
    assert not isinstance(process.environment, Unknown)
    assert process.environment["LLAMA_ARG_THREADS_HTTP"] == "2"
    assert "do-not-keep" not in repr(process)


def test_a_server_with_a_key_is_read_with_the_key_and_the_key_is_not_shown(start_llama: Start) -> None:
    with start_llama(arguments=["--api-key", "sk-do-not-show"]) as server:
        closed = llama_cpp.read_back(server.client.get)
        assert isinstance(closed["sampling.top_k"].value, Unknown)
        with Client(server.url, headers={"Authorization": "Bearer sk-do-not-show"}) as client:
            opened = observe(
                "llama.cpp", "b10068", server.url, http=client, process=process_behind(server.url)
            )
    assert opened.values["sampling.top_k"].value == 40
    shown = repr(client) + repr(opened) + repr(drift(BASE, SAMPLING, METADATA, opened))
    assert "sk-do-not-show" not in shown


def test_a_wrong_port_is_unreachable_with_what_to_do() -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    with pytest.raises(Unreachable) as caught, Client(url) as client:
        observe("llama.cpp", "b10068", url, http=client)
    assert "refused" in caught.value.message
    assert "endpoint.url" in caught.value.hint


def test_the_config_moves_the_answer_as_the_schema_says(
    start_llama: Start, llama_server: LlamaServer
) -> None:
    """The KV cache type is called an `output` value: a real answer shows it."""
    question = "Write three sentences about the sea, then list five words that rhyme with wave."
    plain = llama_server.chat(question, max_tokens=48)
    again = llama_server.chat(question, max_tokens=48)
    with start_llama(arguments=["-ctk", "q4_0", "-ctv", "q4_0", "-fa", "on"]) as server:
        moved = server.chat(question, max_tokens=48)
    assert text_of(plain) == text_of(again)
    assert text_of(plain) != text_of(moved)


def text_of(answer: Mapping[str, Json]) -> str:
    choices = answer["choices"]
    assert isinstance(choices, list)
    return str(choices[0]["message"]["content"])


def test_engine_variables_are_kept_and_secrets_are_not() -> None:
    kept = ["LLAMA_ARG_CACHE_TYPE_K", "GGML_CUDA_FORCE_MMQ", "VLLM_ATTENTION_BACKEND", "OMP_NUM_THREADS"]
    dropped = ["HF_TOKEN", "LLAMA_API_KEY", "VLLM_API_KEY", "PATH", "AWS_SECRET_ACCESS_KEY"]
    assert [name for name in kept if not engine_variable(name)] == []
    assert [name for name in dropped if engine_variable(name)] == []
