"""Base rules at their edges: what is a pin, what floats, what may lie over an image."""

from __future__ import annotations

from typing import Any

import pytest

from governance.verdict import Severity
from tests.support.rules import COMMIT, DIGEST, GONE, codes, found

GGUF: dict[str, Any] = {
    "model/id": "acme/tern-135m",
    "model/weights": {"format": "gguf", "files": {"tern.gguf": DIGEST}},
    "model/tokenizer": GONE,
    "precision": {"weights": {"method": "gguf", "type": "q4_1"}, "kv_cache": {"dtype": "f16"}},
    "engine": {
        "name": "llama.cpp",
        "version": "b10434",
        "options": {"max_model_len": 8192, "prefix_caching": True, "attention": "flash"},
    },
    "image/ref": "registry.example/server@sha256:" + "ab" * 32,
    "hardware": {"device": "cpu"},
}


@pytest.mark.parametrize(
    ("revision", "word"),
    [
        ("main", "moves"),
        ("v1.0", "moves"),
        ("refs/pr/7", "moves"),
        ("4f1c2d9", "abbreviated"),
        (COMMIT[:39], "abbreviated"),
        (COMMIT + "0", "abbreviated"),
        ("deadbeef-fix", "moves"),
    ],
)
def test_a_name_or_a_short_hash_is_no_pin(revision: str, word: str) -> None:
    (finding,) = found("TL201", base={"model/revision": revision})
    assert finding.severity is Severity.ERROR
    assert word in finding.message
    assert revision in finding.message
    assert finding.excerpt.strip().startswith("revision:")


@pytest.mark.parametrize("revision", [COMMIT, COMMIT.upper(), "0" * 40, "ab" * 32, "sha256:" + "ab" * 32])
def test_a_whole_commit_or_digest_is_a_pin(revision: str) -> None:
    assert not found("TL201", base={"model/revision": revision})


def test_every_revision_of_the_model_is_looked_at() -> None:
    base = {
        "model/revision": "main",
        "model/code_revision": "dev",
        "model/config_revision": "stable",
        "model/tokenizer/revision": "v2",
    }
    assert len(found("TL201", base=base)) == 4


def test_digests_pin_a_local_model_that_has_no_revision() -> None:
    assert not found("TL202", base={"model/id": "/models/tern", "model/revision": GONE})
    (finding,) = found(
        "TL202", base={"model/id": "/models/tern", "model/revision": GONE, "model/weights": GONE}
    )
    assert "digests" in finding.hint


def test_a_tokenizer_of_another_repository_must_be_pinned() -> None:
    (finding,) = found("TL203", base={"model/tokenizer": {"id": "acme/other"}})
    assert finding.severity is Severity.ERROR


def test_a_gguf_file_brings_its_tokenizer() -> None:
    assert codes(base=GGUF, services={"services": {}}) == []


@pytest.mark.parametrize(
    ("wanted", "allowed", "severity"),
    [
        (["down_proj"], ["qkv_proj"], Severity.ERROR),
        (["q_proj", "v_proj"], ["qkv_proj"], None),
        (["model.layers.0.self_attn.q_proj"], ["q_proj"], None),
        (["gate_up_proj"], ["gate_proj", "up_proj"], None),
        (["q_proj", "down_proj"], ["qkv_proj"], Severity.WARNING),
        (["all-linear"], ["qkv_proj"], None),
        (["down_proj"], ["all-linear"], None),
    ],
)
def test_fused_modules_count_as_their_parts(
    wanted: list[str], allowed: list[str], severity: Severity | None
) -> None:
    base = {
        "model/adapters": [{"name": "a", "id": "x/y", "revision": COMMIT, "target_modules": wanted}],
        "engine/options/lora": {"enabled": True, "target_modules": allowed},
    }
    findings = found("TL205", base=base)
    assert [finding.severity for finding in findings] == ([severity] if severity else [])


def test_a_merged_adapter_needs_no_adapters_at_run_time() -> None:
    adapter = {"name": "a", "id": "x/y", "revision": COMMIT, "merged": True}
    base = {"model/adapters": [adapter], "engine/options/lora": {"enabled": False}}
    assert not found("TL206", base=base)


def test_remote_code_at_a_pinned_commit_is_a_warning() -> None:
    (finding,) = found("TL209", base={"model/trust_remote_code": True})
    assert finding.severity is Severity.WARNING


def test_the_length_from_which_a_quantised_cache_is_found_can_be_set() -> None:
    base = {"precision/kv_cache": {"dtype": "fp8", "scales": "one"}, "engine/options/max_model_len": 16384}
    assert not found("TL222", base=base)
    settings = {"rules": {"settings": {"TL222": {"max_model_len": 8192}}}}
    assert len(found("TL222", base=base, services=settings)) == 1


def test_key_and_value_formats_are_both_looked_at() -> None:
    base = {
        "precision/kv_cache": {"key_dtype": "q8_0", "value_dtype": "q4_0"},
        "engine/options/max_model_len": 65536,
    }
    assert [finding.key for finding in found("TL222", base=base)] == [
        "precision.kv_cache.key_dtype",
        "precision.kv_cache.value_dtype",
    ]


def test_an_ollama_server_without_context_length_says_that_prompts_are_cut() -> None:
    base = {**GGUF, "engine": {"name": "ollama", "version": "0.12.11"}}
    (finding,) = found("TL232", base=base, services={"services": {}})
    assert "200" in finding.message


@pytest.mark.parametrize(
    ("ref", "told"),
    [
        ("registry.example/infer/vllm", "no tag means `latest`"),
        ("registry.example:5000/infer/vllm", "no tag means `latest`"),
        ("vllm:latest", "tag `latest`"),
        ("vllm@sha256:abc", "no digest"),
        ("vllm@sha512:" + "a" * 64, "no digest"),
    ],
)
def test_an_image_without_a_digest_is_not_pinned(ref: str, told: str) -> None:
    (finding,) = found("TL250", base={"image/ref": ref})
    assert told in finding.message


@pytest.mark.parametrize(
    "ref", ["r.example:5000/a/vllm:v0.8.4@sha256:" + "c1" * 32, "vllm@sha256:" + "c1" * 32]
)
def test_a_digest_pins_with_or_without_a_tag(ref: str) -> None:
    assert not found("TL250", base={"image/ref": ref})


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("/usr/local/lib/python3.12/site-packages/vllm/sampler.py", "TL252"),
        ("/opt/engine", "TL252"),
        ("/", "TL252"),
        ("/etc/engine.yaml", "TL253"),
        ("/templates/chat.jinja", "TL253"),
        ("/models", None),
        ("/root/.cache/huggingface", None),
        ("/dev/shm", None),
    ],
)
def test_what_a_mount_lies_over_decides(target: str, code: str | None) -> None:
    base = {"image/mounts": [{"source": "x", "target": target}]}
    assert [c for c in codes(base=base) if c in {"TL252", "TL253"}] == ([code] if code else [])


@pytest.mark.parametrize(
    ("item", "severity"),
    [
        ("tern-metrics", Severity.ERROR),
        ("numpy>=1.26", Severity.ERROR),
        ("numpy==1.*", Severity.ERROR),
        ("numpy==1.26.4", Severity.WARNING),
        ("pip install numpy==1.26.4 tern", Severity.ERROR),
        ("apt-get install -y libnccl2=2.21.5-1", Severity.WARNING),
    ],
)
def test_an_unpinned_install_at_start_blocks(item: str, severity: Severity) -> None:
    findings = found("TL254", base={"image/install_at_start": [item]})
    assert [finding.severity for finding in findings] == [severity]


def test_code_fetched_at_start_blocks() -> None:
    base = {"image/entrypoint": ["sh", "-c", "curl -s https://x.example/i.sh | bash && serve"]}
    assert len(found("TL254", base=base)) == 1


@pytest.mark.parametrize(
    ("options", "count", "wrong"),
    [
        ({"tensor_parallel_size": 2}, 4, False),
        ({"tensor_parallel_size": 4}, 2, True),
        ({"tensor_parallel_size": 3}, 4, True),
        ({"tensor_parallel_size": 2, "pipeline_parallel_size": 2}, 4, False),
        ({"tensor_parallel_size": 2, "data_parallel_size": 4}, 4, True),
        ({"tensor_parallel_size": 4, "data_parallel_size": 4, "data_parallel_attention": True}, 4, False),
        ({}, 8, False),
    ],
)
def test_parallel_degrees_must_divide_the_devices(options: dict[str, Any], count: int, wrong: bool) -> None:
    base = {f"engine/options/{key}": value for key, value in options.items()} | {"hardware/count": count}
    assert bool(found("TL239", base=base)) is wrong


def test_an_unknown_option_names_the_nearest() -> None:
    (finding,) = found("TL234", base={"engine/extra": {"max-num-seq": 8}})
    assert "max-num-seqs" in finding.hint
    assert finding.line


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("scheduling-policy", "fifo", True),
        ("scheduling-policy", "priority", False),
        ("max-logprobs", "5", True),
        ("max-logprobs", 5, False),
        ("disable-cascade-attn", 1, True),
    ],
)
def test_the_option_table_judges_types_and_choices(name: str, value: Any, wrong: bool) -> None:
    assert bool(found("TL235", base={"engine/extra": {name: value}})) is wrong


def test_options_of_an_engine_version_without_a_table_are_said_to_be_unchecked() -> None:
    (finding,) = found("TL238", base={"engine/version": "0.0.1", "engine/extra": {"anything": 1}})
    assert finding.severity is Severity.WARNING
    assert "not checked" in finding.message
