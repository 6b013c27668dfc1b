"""Helm values of the vLLM production stack: one service for each entry of `servingEngineSpec.modelSpec`.

- The chart turns `vllmConfig` into arguments of `vllm serve`; the same table is applied here, so that the
  engine's own option table judges the result.
- What the chart decides by its own defaults, and what a token field holds, is not copied.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from governance.engines.model import Imported, Open
from governance.engines.sources.detect import from_image, version_of
from governance.engines.sources.kubernetes import gpu_name
from governance.engines.sources.model import Hardware, Service, as_list, as_mapping, as_text
from governance.values import Json

# Keys of vllmConfig -> flag of vllm serve; booleans become --flag or --no-flag.
_FLAGS: Final[dict[str, str]] = {
    "dtype": "dtype",
    "maxModelLen": "max-model-len",
    "maxNumSeqs": "max-num-seqs",
    "maxNumBatchedTokens": "max-num-batched-tokens",
    "tensorParallelSize": "tensor-parallel-size",
    "pipelineParallelSize": "pipeline-parallel-size",
    "dataParallelSize": "data-parallel-size",
    "gpuMemoryUtilization": "gpu-memory-utilization",
    "enablePrefixCaching": "enable-prefix-caching",
    "enableChunkedPrefill": "enable-chunked-prefill",
    "maxLoras": "max-loras",
    "maxLoraRank": "max-lora-rank",
    "kvCacheDtype": "kv-cache-dtype",
    "quantization": "quantization",
}
# Keys that shape no output: resources of the pod and transport.
_IGNORED: Final = frozenset(("v0", "v1", "extraArgs", "runnerType", "convert"))


def is_production_stack(document: Json) -> bool:
    """Whether `document` holds the values of this chart."""
    return bool(as_list(as_mapping(as_mapping(document).get("servingEngineSpec")).get("modelSpec")))


def services(document: Json, *, path: str) -> Iterator[Service]:
    """Each model of the chart's values, disabled ones included and noted."""
    root = as_mapping(document)
    spec = as_mapping(root.get("servingEngineSpec"))
    adapters = [as_mapping(entry) for entry in as_list(root.get("loraAdapters"))]
    for model in map(as_mapping, as_list(spec.get("modelSpec"))):
        yield _service(model, spec, adapters, path)


def _service(
    model: dict[str, Json], spec: dict[str, Json], adapters: list[dict[str, Json]], path: str
) -> Service:
    name = as_text(model.get("name")) or "model"
    tag = as_text(model.get("tag"))
    image = as_text(model.get("repository")) + (f":{tag}" if tag else "")
    config = as_mapping(model.get("vllmConfig"))
    argv, left_open = _arguments(model, config)
    environment = {**_environment(spec), **_environment(model), **_core_version(config)}
    for key in ("hf_token", "vllmApiKey"):
        if model.get(key):
            environment["HF_TOKEN" if key == "hf_token" else "VLLM_API_KEY"] = f"env:{key.upper()}"
    disabled = ("the chart does not deploy this model (`enabled: false`)",)
    return Service(
        name=name,
        where=path,
        engine=from_image(image) or "vllm",
        version=version_of(image),
        image=image,
        argv=argv,
        environment=environment,
        hardware=_hardware(model),
        known=Imported(base={"model": _model(model, name, adapters)}),
        files=_chat_template(model),
        left_open=left_open,
        notes=disabled if model.get("enabled") is False else (),
    )


def _arguments(model: dict[str, Json], config: dict[str, Json]) -> tuple[tuple[str, ...], tuple[Open, ...]]:
    argv = ["vllm", "serve", as_text(model.get("modelURL"))]
    left_open: list[Open] = []
    for key, value in config.items():
        flag = _FLAGS.get(key)
        if flag is None:
            if key not in _IGNORED:
                reason = f"the chart's key `vllmConfig.{key}` has no option of the engine here"
                left_open.append(Open(f"base: {key}", reason, suggestion="put it under engine.extra"))
        elif isinstance(value, bool):
            argv.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            argv += [f"--{flag}", json.dumps(value) if isinstance(value, dict) else as_text(value)]
    if model.get("enableLoRA") is True:
        argv.append("--enable-lora")
    offload = as_mapping(model.get("lmcacheConfig"))
    if offload.get("enabled") is True:
        reason = "LMCache keeps and reuses KV entries outside the engine"
        left_open.append(Open("base: engine.options.kv_offload", reason, suggestion="kv_offload: true"))
    argv += [as_text(word) for word in as_list(config.get("extraArgs"))]
    return tuple(argv), tuple(left_open)


def _core_version(config: dict[str, Json]) -> dict[str, str]:
    """The chart sets `VLLM_USE_V1` from `v0` and `v1`."""
    if "v1" in config:
        return {"VLLM_USE_V1": "1" if as_text(config["v1"]) in ("1", "true") else "0"}
    if as_text(config.get("v0")) in ("1", "true"):
        return {"VLLM_USE_V1": "0"}
    return {}


def _environment(holder: dict[str, Json]) -> dict[str, str]:
    values = {}
    for entry in map(as_mapping, as_list(holder.get("env"))):
        name = as_text(entry.get("name"))
        values[name] = f"env:{name}" if entry.get("valueFrom") else as_text(entry.get("value"))
    return values


def _model(model: dict[str, Json], name: str, adapters: list[dict[str, Json]]) -> dict[str, Json]:
    tree: dict[str, Json] = {"id": as_text(model.get("modelURL"))}
    if model.get("modelRevision"):
        tree["revision"] = as_text(model["modelRevision"])
    loaded: list[Json] = []
    for adapter in adapters:
        if as_text(adapter.get("baseModel")) == name:
            source = as_mapping(adapter.get("adapterSource"))
            where = as_text(source.get("repository")) or as_text(source.get("adapterPath"))
            loaded.append({"name": as_text(adapter.get("name")), "id": where})
    if loaded:
        tree["adapters"] = loaded
    return tree


def _hardware(model: dict[str, Json]) -> Hardware:
    count = as_text(model.get("requestGPU"))
    kind = as_text(model.get("requestGPUType")).removeprefix("nvidia.com/")
    gpu = gpu_name(kind) if kind and not kind.startswith(("mig-", "gpu")) else ""
    if not count.isdigit() or count == "0":
        return Hardware("cpu" if count == "0" else "")
    return Hardware("cuda", gpu, int(count))


def _chat_template(model: dict[str, Json]) -> dict[str, bytes]:
    text = as_text(model.get("chatTemplate"))
    return {"chat_template.jinja": text.encode()} if text else {}
