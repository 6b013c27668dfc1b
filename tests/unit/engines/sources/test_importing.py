"""Foreign files as tier files: what they say is kept, what they leave open is listed."""

from __future__ import annotations

import json
from datetime import date

import pytest

from governance.adapters.files import MemoryTree
from governance.engines.facts import Facts
from governance.engines.keys import look
from governance.engines.sources.importing import ImportResult, import_sources
from governance.tiers.check import check
from governance.tiers.reader import read_yaml
from governance.values import Json
from governance.verdict import Outcome

KUBERNETES = """\
apiVersion: v1
kind: Service
metadata: {name: tern}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: tern}
spec:
  template:
    spec:
      containers:
      - name: server
        image: registry.example/infer/vllm:v0.10.0
        args: ["--model=$(MODEL)", "--dtype=half", "--kv-cache-dtype", "fp8_e5m2"]
        env:
        - {name: MODEL, value: acme/tern-7b}
        - {name: VLLM_ATTENTION_BACKEND, value: TRITON_ATTN}
        - {name: VLLM_LOGGING_LEVEL, value: DEBUG}
        - {name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hub, key: token}}}
        - {name: UPLOAD_PASSWORD, value: not-a-real-password-1234}
        resources: {limits: {nvidia.com/gpu: "2"}}
        volumeMounts: [{name: shm, mountPath: /dev/shm}, {name: patch, mountPath: /srv/sampler.py}]
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
      volumes: [{name: shm, emptyDir: {medium: Memory}}, {name: patch, hostPath: {path: /opt/sampler.py}}]
"""


def tree(result: ImportResult, path: str) -> dict[str, Json]:
    found = read_yaml(result.files[path], path).tree
    assert isinstance(found, dict)
    return found


def left_open(result: ImportResult) -> set[str]:
    return {value.key for value in result.report.values}


def test_a_deployment_is_found_behind_other_documents() -> None:
    """Manifests often start with something else; reading the first document alone finds nothing."""
    result = import_sources({"deploy.yaml": KUBERNETES.encode()})
    base = tree(result, "configs/base/tern.yaml")
    assert look(base, "model.id") == "acme/tern-7b"
    assert look(base, "precision.dtype") == "float16"
    assert look(base, "precision.kv_cache.dtype") == "fp8_e5m2"
    assert look(base, "engine.version") == "0.10.0"
    assert base["hardware"] == {"device": "cuda", "gpu": "NVIDIA L4", "count": 2}
    assert look(base, "image.mounts") == [{"source": "/opt/sampler.py", "target": "/srv/sampler.py"}]


def test_a_secret_is_kept_as_a_reference_only_and_logging_is_left_out() -> None:
    result = import_sources({"deploy.yaml": KUBERNETES.encode()})
    base = tree(result, "configs/base/tern.yaml")
    assert look(base, "engine.options.attention") == "TRITON_ATTN", "the engine's own variable is an option"
    assert look(base, "environment.variables") == {
        "HF_TOKEN": "env:HF_TOKEN",
        "UPLOAD_PASSWORD": "env:UPLOAD_PASSWORD",
    }
    assert b"not-a-real-password" not in b"".join(result.files.values())
    assert any("VLLM_LOGGING_LEVEL" in note for note in result.report.notes)


def test_what_a_source_leaves_open_is_listed_and_not_filled_in() -> None:
    result = import_sources({"deploy.yaml": KUBERNETES.encode()})
    assert {"base: model.revision", "base: image.ref", "sampling: temperature"} <= left_open(result)
    assert "revision" not in str(tree(result, "configs/base/tern.yaml")["model"])
    assert tree(result, "configs/sampling/tern.yaml") == {"kind": "sampling"}


def test_the_result_is_judged_by_check_with_findings_on_what_is_open() -> None:
    """An import is a start: the gate must not wave through what nobody pinned."""
    result = import_sources({"deploy.yaml": KUBERNETES.encode()})
    report = check(MemoryTree(result.files), today=date(2026, 11, 30), engine_facts=Facts())
    assert report.outcome is Outcome.BLOCK
    assert not [f for f in report.findings if f.code.startswith(("TL0", "TL1"))], "reads and fits the schema"


@pytest.mark.parametrize(
    ("name", "text", "engine", "model"),
    [
        (
            "compose.yaml",
            "services:\n  a:\n    image: lmsysorg/sglang:v0.5.5.post3\n"
            "    command: python3 -m sglang.launch_server --model-path a/b --tp 2\n",
            "sglang",
            "a/b",
        ),
        ("start.sh", "#!/bin/sh\nexec llama-server -m /models/a.gguf -c 4096 -ctk q8_0\n", "llama.cpp", ""),
        ("run.txt", "text-generation-launcher --model-id a/b --quantize awq --dtype float16\n", "tgi", "a/b"),
        (
            "values.yaml",
            "servingEngineSpec:\n  modelSpec:\n  - name: m\n"
            "    repository: vllm/vllm-openai\n    tag: v0.8.4\n"
            "    modelURL: a/b\n    vllmConfig: {maxModelLen: 4096, enablePrefixCaching: true}\n",
            "vllm",
            "a/b",
        ),
        (
            "kserve.yaml",
            "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: m}\n"
            "spec:\n  predictor:\n    model:\n      modelFormat: {name: huggingface}\n"
            "      args: [--model_name=m, --backend=vllm]\n      storageUri: hf://a/b\n",
            "vllm",
            "a/b",
        ),
        (
            "ome.yaml",
            "apiVersion: ome.io/v1beta1\nkind: ClusterServingRuntime\nmetadata: {name: m}\nspec:\n"
            "  engineConfig:\n    runner:\n      name: c\n      image: lmsysorg/sglang:v0.5.5.post3\n"
            "      command: [python3, -m, sglang.launch_server, --model-path, a/b, --mem-frac, '0.9']\n",
            "sglang",
            "a/b",
        ),
        (
            "config.yaml",
            "model_name: m\nresources: {accelerator: 'H100:2'}\ntrt_llm:\n  build:\n"
            "    checkpoint_repository: {repo: a/b, revision: main}\n    quantization_type: fp8_kv\n",
            "tensorrt-llm",
            "a/b",
        ),
        (
            "house.yaml",
            "kind: Pod\nmetadata: {name: m}\nspec:\n  containers:\n  - image: registry.example/infer/tern\n"
            "    args: [--model, a/b]\n    env: [{name: VLLM_ATTENTION_BACKEND, value: TRITON_ATTN}]\n",
            "vllm",
            "a/b",
        ),
        ("Modelfile", "FROM a/b\nPARAMETER temperature 0.6\n", "ollama", "a/b"),
    ],
)
def test_every_kind_of_source_is_recognised_by_its_content(
    name: str, text: str, engine: str, model: str
) -> None:
    result = import_sources({name: text.encode()})
    assert result.report.outcome is Outcome.PASS, result.report.findings
    base = next(tree(result, path) for path in result.files if path.startswith("configs/base/"))
    assert look(base, "engine.name") == engine
    if model:
        assert look(base, "model.id") == model


def test_a_modelfile_keeps_text_exactly_and_lists_the_context_as_open() -> None:
    text = (
        "FROM tern-chat:14b\nPARAMETER temperature 0.6\nPARAMETER repeat_penalty 1\n"
        'PARAMETER stop <|im_end|>\nPARAMETER stop "  x"\nSYSTEM """你是快递客服。\n第二行"""\n'
    )
    result = import_sources({"Modelfile": text.encode()}, name="tern")
    sampling = tree(result, "configs/sampling/tern.yaml")
    prompts = tree(result, "configs/prompts/tern.yaml")
    assert sampling["repetition_penalty"] == 1.0
    assert [*look(sampling, "stop")] == ["<|im_end|>", "  x"]
    assert prompts["system"] == "你是快递客服。\n第二行"
    assert "base: engine.options.max_model_len" in left_open(result)


def test_a_generation_config_alone_becomes_a_sampling_tier() -> None:
    file = {"temperature": 0.6, "top_p": 0.9, "eos_token_id": [9, 2], "bos_token_id": 1, "odd_key": 3}
    result = import_sources({"generation_config.json": json.dumps(file).encode()}, name="m")
    assert tree(result, "configs/sampling/m.yaml") == {
        "kind": "sampling",
        "temperature": 0.6,
        "top_p": 0.9,
        "stop_token_ids": [2, 9],
    }
    assert any("odd_key" in note for note in result.report.notes)


def test_a_generation_config_beside_a_service_is_kept_with_its_base_config() -> None:
    """The engine reads it, so it belongs to what is fingerprinted."""
    file = b'{"temperature": 0.6}'
    result = import_sources({"start.sh": b"vllm serve a/b\n", "generation_config.json": file}, name="m")
    assert result.files["configs/base/m/generation_config.json"] == file
    assert (
        look(tree(result, "configs/base/m.yaml"), "model.generation_config.file") == "generation_config.json"
    )


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("notes.yaml", b"a: 1\n"),
        ("empty.yaml", b""),
        ("readme.sh", b"echo hello\n"),
        ("broken.sh", b"vllm serve 'unclosed\n"),
        ("service.yaml", b"apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"),
    ],
)
def test_a_source_that_describes_no_server_is_undecided(name: str, data: bytes) -> None:
    """Nothing found is not success."""
    result = import_sources({name: data})
    assert result.report.outcome is not Outcome.PASS
    assert not result.files


def test_a_fault_in_a_modelfile_names_its_line() -> None:
    result = import_sources({"Modelfile": b"FROM a\nPARAMTER temperature 1\n"})
    (finding,) = result.report.findings
    assert (finding.path, finding.line) == ("Modelfile", 2)
    assert result.report.outcome is Outcome.BLOCK


def test_what_the_source_sets_beside_the_launch_is_not_left_open() -> None:
    """KServe's storage address names the model although no argument does."""
    text = (
        "kind: InferenceService\nmetadata: {name: m}\nspec: {predictor: {model: {modelFormat: "
        "{name: huggingface}, args: [--backend=huggingface], storageUri: 'hf://a/b'}}}\n"
    )
    result = import_sources({"kserve.yaml": text.encode()})
    assert look(tree(result, "configs/base/m.yaml"), "model.id") == "a/b"
    assert "base: model.id" not in left_open(result)


def test_two_services_of_one_name_keep_apart() -> None:
    one, two = KUBERNETES.replace("tern-7b", "tern-8b"), KUBERNETES
    result = import_sources({"a.yaml": one.encode(), "b.yaml": two.encode()})
    assert {"configs/base/tern.yaml", "configs/base/tern-2.yaml"} <= result.files.keys()
