"""Looking at a server: which engine it is, what it shows, and what only its process shows."""

from __future__ import annotations

import pytest

from governance.adapters.processes import Program
from governance.engines.observe import FROM_FLAGS, FROM_VARIABLES, NOT_SET, detect, observe
from governance.engines.registry import ENGINES
from governance.errors import Unreachable
from governance.values import Json, Unknown
from tests.support.answers import Answers

PROPS: dict[str, Json] = {
    "default_generation_settings": {
        "params": {"seed": 4294967295, "temperature": 0.800000011920929, "top_k": 40, "n_predict": -1},
        "n_ctx": 1024,
    },
    "total_slots": 2,
    "model_alias": "/m/tern.gguf",
    "model_path": "/m/tern.gguf",
    "model_ftype": "Q4_1",
    "chat_template": "{{ messages }}",
    "build_info": "b10434-7e4c0a9",
}
LLAMA = {
    "/props": PROPS,
    "/v1/models": {
        "object": "list",
        "data": [{"id": "/m/tern.gguf", "owned_by": "llamacpp", "aliases": ["/m/tern.gguf"]}],
    },
}
LISTED: dict[str, dict[str, Json]] = {
    "llama.cpp": LLAMA,  # type: ignore[dict-item]
    "vllm": {"/version": {"version": "0.32.0"}, "/v1/models": {"data": [{"id": "m", "owned_by": "vllm"}]}},
    "sglang": {
        "/server_info": {"model_path": "m", "attention_backend": "fa3", "version": "0.5.23"},
        "/v1/models": {"data": [{"id": "m", "owned_by": "sglang"}]},
    },
    "tgi": {"/info": {"model_id": "m", "max_total_tokens": 4096, "version": "3.3.7"}},
    "ollama": {
        "/api/version": {"version": "0.32.15"},
        "/v1/models": {"data": [{"id": "m", "owned_by": "library"}]},
    },
    "tensorrt-llm": {
        "/version": {"version": "1.2.0"},
        "/v1/models": {"data": [{"id": "m", "owned_by": "tensorrt_llm"}]},
    },
    "transformers": {
        "/openapi.json": {"paths": {"/v1/responses": {}, "/v1/audio/transcriptions": {}, "/v1/models": {}}},
    },
}


def process(*argv: str, environment: dict[str, str] | Unknown | None = None) -> Program:
    return Program(7, argv, {} if environment is None else environment, 1000.0)


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_each_engine_is_told_by_its_own_paths(engine: str) -> None:
    assert detect(Answers(LISTED[engine]).get).engine == engine


@pytest.mark.parametrize(
    "routes",
    [
        {},
        {"/v1/models": {"data": [{"id": "gpt", "owned_by": "openai"}]}},
        {"/version": {"version": "9"}, "/v1/models": {"data": [{"id": "m", "owned_by": "a-gateway"}]}},
        {"/info": {"name": "something"}, "/props": {"a": 1}},
        {"/openapi.json": {"paths": {"/v1/responses": {}, "/v1/audio/transcriptions": {}, "/key/new": {}}}},
    ],
)
def test_a_server_that_is_no_known_engine_cannot_be_judged(routes: dict[str, Json]) -> None:
    """A gateway that speaks the same interface is no engine; guessing one would compare the wrong things."""
    with pytest.raises(Unreachable) as caught:
        detect(Answers(routes).get, "http://x")
    assert "HTTP 404" in caught.value.hint or "answered" in caught.value.hint


def test_every_path_is_asked_once() -> None:
    http = Answers(LLAMA)  # type: ignore[arg-type]
    observe("llama.cpp", "b10434", "http://x/v1", http=http)
    assert len(http.asked) == len(set(http.asked))


def test_no_path_is_asked_that_is_not_needed() -> None:
    """vLLM's /server_info takes seconds to make: it lists the packages of the host."""
    http = Answers(LISTED["vllm"])
    assert detect(http.get).engine == "vllm"
    assert "/server_info" not in http.asked


def test_another_engine_than_declared_is_observed_as_what_it_is() -> None:
    found = observe("llama.cpp", "b10434", "http://x", http=Answers(LISTED["tgi"]))
    assert found.engine == "tgi"
    assert found.values["engine.name"].value == "tgi"
    assert found.version == "3.3.7"


def test_http_wins_over_the_process_and_the_process_adds_what_http_does_not_show() -> None:
    seen = process("/app/llama-server", "-m", "x", "-c", "4096", "-np", "1", "-ctk", "q4_0", "-ctv", "q4_0")
    found = observe("llama.cpp", "b10434", "http://x", http=Answers(LLAMA), process=seen)  # type: ignore[arg-type]
    length, cache = found.values["engine.options.max_model_len"], found.values["precision.kv_cache.dtype"]
    assert (length.value, length.source) == (1024, "GET /props default_generation_settings.n_ctx")
    assert (cache.value, cache.source) == ("q4_0", FROM_FLAGS)
    default = found.values["engine.options.repack"]
    assert default.value is True
    assert default.source == f"engine default (llama.cpp b10434), {NOT_SET}"
    assert found.started_at == 1000.0


def test_a_value_says_whether_a_flag_or_a_variable_set_it() -> None:
    seen = process(
        "llama-server", "-ctk", "q4_0", environment={"LLAMA_ARG_UBATCH": "64", "LLAMA_ARG_THREADS": "2"}
    )
    found = observe("llama.cpp", "b10434", "http://x", http=Answers(LLAMA), process=seen)  # type: ignore[arg-type]
    assert found.values["engine.options.micro_batch_size"].source == FROM_VARIABLES
    assert found.values["engine.options.threads"].source == FROM_VARIABLES
    assert found.values["precision.kv_cache.dtype"].source == FROM_FLAGS


def test_a_variable_that_may_not_be_read_makes_defaults_unknown_and_flags_stay_known() -> None:
    """`LLAMA_ARG_CACHE_TYPE_K` could be set where we may not look: its default is then no fact."""
    hidden = process("llama-server", "-t", "2", environment=Unknown("another user"))
    found = observe("llama.cpp", "b10434", "http://x", http=Answers(LLAMA), process=hidden)  # type: ignore[arg-type]
    assert found.values["engine.options.threads"].value == 2
    assert "precision.kv_cache.dtype" not in found.values


@pytest.mark.parametrize("argv", [("docker-proxy", "-host-port", "8080"), ("nginx",), ("python3", "app.py")])
def test_a_proxy_on_the_port_shows_nothing_of_the_server(argv: tuple[str, ...]) -> None:
    found = observe("llama.cpp", "b10434", "http://x", http=Answers(LLAMA), process=process(*argv))  # type: ignore[arg-type]
    assert "precision.kv_cache.dtype" not in found.values
    assert isinstance(found.process, Unknown)
    assert argv[0] in found.process.reason


def test_without_a_process_the_start_time_is_unknown() -> None:
    found = observe("llama.cpp", "b10434", "http://x", http=Answers(LLAMA))  # type: ignore[arg-type]
    assert isinstance(found.started_at, Unknown)
    away = observe("llama.cpp", "b10434", "http://x", http=Answers(LLAMA), process=Unknown("another host"))  # type: ignore[arg-type]
    assert isinstance(away.started_at, Unknown)
    assert away.started_at.reason == "another host"


def test_the_template_is_digested() -> None:
    found = observe("llama.cpp", "b10434", "http://x", http=Answers(LLAMA))  # type: ignore[arg-type]
    assert str(found.identity["chat_template_sha256"].value).startswith("sha256:")
    assert found.identity["weights"].value == "/m/tern.gguf"


def test_an_interpreter_before_the_program_is_passed_over() -> None:
    seen = process("/usr/bin/python3", "/opt/bin/vllm", "serve", "acme/tern", "--max-num-seqs", "4")
    found = observe("vllm", "0.32.0", "http://x", http=Answers(LISTED["vllm"]), process=seen)
    assert found.values["engine.options.max_num_seqs"].value == 4


VLLM_LAUNCH = ("vllm", "serve", "/models/tern", "--override-generation-config", '{"top_p": 0.5}')
FOLDER = {"/models/tern/generation_config.json": b'{"temperature": 0.7}', "/models/tern/config.json": b"{}"}


def looked_at(files: dict[str, bytes | Unknown]) -> dict[str, tuple[object, str]]:
    """What a vLLM shows through its process, whose host has `files`."""
    found = observe(
        "vllm", "0.32.0", "http://x", http=Answers(LISTED["vllm"]), process=process(*VLLM_LAUNCH),
        read=lambda program, path: files.get(path),
    )  # fmt: skip
    return {key: (seen.value, seen.source) for key, seen in found.values.items()}


def test_the_models_own_generation_config_is_read_where_the_server_has_it() -> None:
    found = looked_at(dict(FOLDER))
    where = "generation_config.json of the model, not set by the server process"
    assert found["sampling.temperature"] == (0.7, where)
    assert found["sampling.top_p"] == (0.5, "command line of the server process")
    assert found["sampling.top_k"][0] == 0


def test_a_model_folder_without_the_file_has_neutral_defaults_and_a_hub_name_none() -> None:
    bare = looked_at({"/models/tern/config.json": b"{}"})
    assert bare["sampling.temperature"][0] == 1.0
    assert "sampling.temperature" not in looked_at({})


@pytest.mark.parametrize("content", [b"[]", b"{", Unknown("written after the start")])
def test_a_file_that_cannot_be_read_leaves_the_defaults_unknown(content: bytes | Unknown) -> None:
    found = looked_at(FOLDER | {"/models/tern/generation_config.json": content})
    assert "sampling.temperature" not in found
    assert found["sampling.top_p"][0] == 0.5
