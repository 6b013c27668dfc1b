"""TensorRT-LLM: launches are read and written; what its package would say is unknown."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from governance.engines import tensorrt_llm
from governance.errors import Usage
from governance.values import Unknown

COMMAND = (
    "trtllm-serve serve m/x --tp_size 2 --max_batch_size 8 --extra_llm_api_options e.yaml --backend pytorch"
)


def test_its_table_and_defaults_are_unknown_with_the_reason() -> None:
    table = tensorrt_llm.table("1.2.1")
    assert isinstance(table, Unknown)
    assert "not on the package index" in table.reason
    assert all(isinstance(v.value, Unknown) for v in tensorrt_llm.sampling_defaults({}, {}).values())


def test_a_launch_is_read_and_its_options_file_is_left_open() -> None:
    found = tensorrt_llm.parse(shlex.split(COMMAND), {"TLLM_LOG_LEVEL": "INFO"})
    engine: Any = found.base["engine"]
    assert found.base["model"] == {"id": "m/x"}
    assert engine["options"] == {"tensor_parallel_size": 2, "max_num_seqs": 8}
    assert engine["extra"] == {"backend": "pytorch"}
    assert any("names a file" in o.reason for o in found.left_open)


def test_an_options_file_fills_what_the_launch_leaves_open() -> None:
    document = {
        "kv_cache_config": {"dtype": "fp8", "enable_block_reuse": False},
        "quant_config": {"quant_algo": "FP8"},
        "moe_expert_parallel_size": 4,
        "enable_attention_dp": True,
    }
    found = tensorrt_llm.with_options(tensorrt_llm.parse(shlex.split(COMMAND), {}), document)
    engine: Any = found.base["engine"]
    precision: Any = found.base["precision"]
    assert precision == {"weights": {"method": "fp8"}, "kv_cache": {"dtype": "fp8"}}
    assert engine["options"]["prefix_caching"] is False
    assert engine["options"]["expert_parallel_size"] == 4
    assert engine["extra"] == {"backend": "pytorch", "enable_attention_dp": True}
    assert "base: engine.options.prefix_caching" not in {o.key for o in found.left_open}


def test_importing_what_was_rendered_gives_the_same_config() -> None:
    tree = {
        "model": {"id": "m/x", "revision": "4f1c2d9e8b7a6051a3b1c2d3e4f50617a8b9c0d1"},
        "engine": {
            "name": "tensorrt-llm",
            "options": {"max_model_len": 4096, "chunked_prefill": True, "tensor_parallel_size": 2},
        },
    }
    launch = tensorrt_llm.render(tree, host="h", port=1)
    assert tensorrt_llm.parse(launch.argv, launch.environment).base == tree


def test_what_only_a_file_can_say_is_refused() -> None:
    tree = {"model": {"id": "m/x"}, "engine": {"name": "tensorrt-llm", "options": {"prefix_caching": True}}}
    with pytest.raises(Usage, match="in a file only"):
        tensorrt_llm.render(tree, host="h", port=1)


def test_a_server_shows_its_version_and_name() -> None:
    documents = {"/version": {"version": "1.2.1"}, "/v1/models": {"data": [{"id": "m"}]}}
    found = tensorrt_llm.read_back(lambda path: documents.get(path, Unknown("404")))  # type: ignore[arg-type, return-value]
    assert {k: v.value for k, v in found.items()} == {
        "engine.version": "1.2.1",
        "engine.options.served_model_name": "m",
    }
    assert set(found) == tensorrt_llm.observable("1.2.1")
