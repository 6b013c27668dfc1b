"""Kubernetes objects: workloads with a pod template, KServe services and runtimes, SGLang's OME runtimes.

- Every document of a file is read; one that describes no server (a Service, a ConfigMap) is skipped, and the
  ConfigMaps are used for the variables that refer to them.
- `$(NAME)` in arguments is Kubernetes' own expansion and uses the container's variables.
- `valueFrom` is never resolved: a secret stays a reference, anything else is left open.
- A KServe storage address `hf://org/model[:revision]` names the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from governance.engines.model import Imported, Open
from governance.engines.sources.command import read_command, references
from governance.engines.sources.detect import (
    PROGRAMS,
    from_argv,
    from_environment,
    from_image,
    from_options,
    version_of,
)
from governance.engines.sources.model import Hardware, Mount, Service, as_list, as_mapping, as_text
from governance.values import Json

_GPU_RESOURCES: Final = re.compile(r"(nvidia|amd|gpu\.intel|google)\.com/(?:gpu|mig-\S+|i915|tpu)")
_DEVICES: Final = {"nvidia": "cuda", "amd": "rocm", "gpu.intel": "xpu", "google": "tpu"}
_GPU_LABELS: Final = (
    "cloud.google.com/gke-accelerator",
    "nvidia.com/gpu.product",
    "eks.amazonaws.com/instance-gpu-name",
    "node.kubernetes.io/gpu",
)
# Arguments of KServe's own server, which it does not hand to the engine.
_KSERVE_ARGUMENTS: Final = ("--model_name=", "--model_dir=", "--backend=")
_SCRATCH: Final = ("emptyDir", "downwardAPI")


def services(documents: Sequence[Json], *, path: str) -> Iterator[Service]:
    """Each server the documents of one manifest describe."""
    maps = _config_maps(documents)
    for document in map(as_mapping, documents):
        kind = as_text(document.get("kind"))
        name = as_text(as_mapping(document.get("metadata")).get("name")) or kind.lower()
        spec = as_mapping(document.get("spec"))
        if kind == "List":
            yield from services(as_list(document.get("items")), path=path)
        elif kind == "InferenceService":
            yield from _inference_service(spec, name, path, maps)
        elif kind in ("ServingRuntime", "ClusterServingRuntime"):
            yield from _serving_runtime(spec, name, path, maps)
        elif kind == "LLMInferenceService":
            yield from _llm_inference_service(spec, name, path, maps)
        else:
            pod = _pod(kind, spec)
            if pod:
                yield from _containers(pod, name, path, maps)


def _config_maps(documents: Sequence[Json]) -> dict[str, dict[str, Json]]:
    found = {}
    for document in map(as_mapping, documents):
        if document.get("kind") == "ConfigMap":
            name = as_text(as_mapping(document.get("metadata")).get("name"))
            found[name] = as_mapping(document.get("data"))
    return found


def _pod(kind: str, spec: dict[str, Json]) -> dict[str, Json]:
    if kind == "Pod":
        return spec
    if kind == "CronJob":
        spec = as_mapping(as_mapping(spec.get("jobTemplate")).get("spec"))
    if kind == "LeaderWorkerSet":
        worker = as_mapping(spec.get("leaderWorkerTemplate"))
        template = as_mapping(worker.get("leaderTemplate")) or as_mapping(worker.get("workerTemplate"))
        return as_mapping(template.get("spec"))
    return as_mapping(as_mapping(spec.get("template")).get("spec"))


def _containers(
    pod: dict[str, Json],
    name: str,
    path: str,
    maps: Mapping[str, dict[str, Json]],
    *,
    only: str = "",
    known: Imported | None = None,
    engine: str = "",
    notes: tuple[str, ...] = (),
) -> Iterator[Service]:
    """The servers among a pod's containers; `only` names the container that must be one."""
    for container in map(as_mapping, as_list(pod.get("containers"))):
        if only and as_text(container.get("name")) != only:
            continue
        service = _container(container, pod, name, path, maps, known or Imported(), engine, notes)
        if service.engine or only:
            yield service


def _container(
    container: dict[str, Json],
    pod: dict[str, Json],
    name: str,
    path: str,
    maps: Mapping[str, dict[str, Json]],
    known: Imported,
    engine: str,
    notes: tuple[str, ...],
) -> Service:
    environment, left_open = _environment(container, maps)
    entrypoint = [as_text(word) for word in as_list(container.get("command"))]
    words = [*entrypoint, *(as_text(word) for word in as_list(container.get("args")))]
    command = read_command(words, environment)
    for name_used in {name for word in words for name in references(word)}:
        environment.pop(name_used, None)  # it is in the arguments now
    image = as_text(container.get("image"))
    engine = from_argv(command.argv) or engine or from_image(image) or from_environment(environment)
    if not engine and (engine := from_options(command.argv)):
        notes = (*notes, f"only the spelling of the options says that this is {engine}: check it")
    argv = command.argv if from_argv(command.argv) else (*PROGRAMS.get(engine, ()), *command.argv)
    argv = tuple(word for word in argv if not word.startswith(_KSERVE_ARGUMENTS))
    return Service(
        name=name,
        where=path,
        engine=engine,
        version=version_of(image),
        image=image,
        argv=argv,
        environment={**environment, **command.environment},
        mounts=_mounts(container, pod),
        hardware=_hardware(container, pod),
        installs=command.installs,
        entrypoint=tuple(entrypoint) if command.installs else (),
        known=known,
        left_open=left_open,
        notes=notes,
    )


def _environment(
    container: dict[str, Json], maps: Mapping[str, dict[str, Json]]
) -> tuple[dict[str, str], tuple[Open, ...]]:
    values: dict[str, str] = {}
    left_open: list[Open] = []
    for source in map(as_mapping, as_list(container.get("envFrom"))):
        name = as_text(as_mapping(source.get("configMapRef")).get("name"))
        if name in maps:
            values.update({key: as_text(value) for key, value in maps[name].items()})
        else:
            which = name or as_text(as_mapping(source.get("secretRef")).get("name"))
            reason = f"`envFrom` takes every variable of `{which}`, which is not in this file"
            left_open.append(Open("base: environment.variables", reason, suggestion="list the variables"))
    for entry in map(as_mapping, as_list(container.get("env"))):
        name = as_text(entry.get("name"))
        origin = as_mapping(entry.get("valueFrom"))
        if not origin:
            values[name] = as_text(entry.get("value"))
        elif "secretKeyRef" in origin:
            values[name] = f"env:{name}"
        else:
            value = _config_map_value(origin, maps)
            if value is not None:
                values[name] = value
            elif "configMapKeyRef" in origin:
                left_open.append(
                    Open(f"base: environment.variables.{name}", "its ConfigMap is not in this file")
                )
    return values, tuple(left_open)


def _config_map_value(origin: dict[str, Json], maps: Mapping[str, dict[str, Json]]) -> str | None:
    reference = as_mapping(origin.get("configMapKeyRef"))
    data = maps.get(as_text(reference.get("name")), {})
    key = as_text(reference.get("key"))
    return as_text(data[key]) if key in data else None


def _mounts(container: dict[str, Json], pod: dict[str, Json]) -> tuple[Mount, ...]:
    """Mounts that lay content over the image: scratch space and shared memory do not."""
    volumes = {as_text(v.get("name")): v for v in map(as_mapping, as_list(pod.get("volumes")))}
    mounts = []
    for mount in map(as_mapping, as_list(container.get("volumeMounts"))):
        name, target = as_text(mount.get("name")), as_text(mount.get("mountPath"))
        volume = volumes.get(name, {})
        if target == "/dev/shm" or any(kind in volume for kind in _SCRATCH):  # noqa: S108
            continue
        kind = next((key for key in volume if key != "name"), "volume")
        source = as_text(as_mapping(volume.get(kind)).get("path")) or f"{kind}:{name}"
        mounts.append(Mount(source, target, mount.get("readOnly") is True))
    return tuple(mounts)


def _hardware(container: dict[str, Json], pod: dict[str, Json]) -> Hardware:
    resources = as_mapping(container.get("resources"))
    wanted = {**as_mapping(resources.get("requests")), **as_mapping(resources.get("limits"))}
    labels = as_mapping(pod.get("nodeSelector"))
    gpu = next((as_text(labels[label]) for label in _GPU_LABELS if label in labels), "")
    for key, amount in wanted.items():
        match = _GPU_RESOURCES.match(key)
        if match and as_text(amount).isdigit() and int(as_text(amount)) > 0:
            return Hardware(_DEVICES[match[1]], gpu_name(gpu), int(as_text(amount)))
    return Hardware("", gpu_name(gpu), None)


def gpu_name(label: str) -> str:
    """A GPU label as the driver writes the model: `nvidia-l4` as `NVIDIA L4`."""
    if not label:
        return ""
    words = re.split(r"[-_ ]", label)
    return " ".join(word.upper() if not word.isupper() and len(word) <= 6 else word for word in words)


def _inference_service(
    spec: dict[str, Json], name: str, path: str, maps: Mapping[str, dict[str, Json]]
) -> Iterator[Service]:
    predictor = as_mapping(spec.get("predictor"))
    model = as_mapping(predictor.get("model"))
    if not model:
        yield from _containers(predictor, name, path, maps)
        return
    runtime = as_text(model.get("runtime"))
    model_format = as_text(as_mapping(model.get("modelFormat")).get("name"))
    container = {**model, "name": "kserve-container"}
    arguments = [as_text(word) for word in as_list(model.get("args"))]
    engine, notes, left_open = _kserve_engine(runtime or model_format, arguments)
    found = _container(
        container, predictor, name, path, maps, _storage(as_text(model.get("storageUri"))), engine, notes
    )
    yield _with_open(found, left_open)


def _kserve_engine(runtime: str, arguments: Sequence[str]) -> tuple[str, tuple[str, ...], tuple[Open, ...]]:
    """The engine behind KServe's Hugging Face runtime: vLLM unless the arguments ask for another backend."""
    backend = next((a.split("=", 1)[1] for a in arguments if a.startswith("--backend=")), "")
    if from_image(runtime):
        engine = from_image(runtime)
    elif "huggingface" in runtime:
        engine = "transformers" if backend == "huggingface" else "vllm"
    else:
        engine = ""
    reason = f"KServe picks the runtime image for `{runtime}` on the cluster"
    opened = (
        Open("base: image.ref", reason, suggestion="name the runtime's image with its digest"),
        Open("base: engine.version", reason, suggestion="the version inside that image"),
    )
    note = "KServe's huggingfaceserver picks vLLM where it supports the model, else transformers"
    return engine, (note,) if "huggingface" in runtime and not backend else (), opened


def _serving_runtime(
    spec: dict[str, Json], name: str, path: str, maps: Mapping[str, dict[str, Json]]
) -> Iterator[Service]:
    """KServe keeps the pod in `spec`; OME keeps it in `spec.engineConfig` with the container as `runner`."""
    engine_config = as_mapping(spec.get("engineConfig"))
    runner = as_mapping(engine_config.get("runner"))
    if runner:
        pod = {**engine_config, "containers": [runner]}
        yield from _containers(pod, name, path, maps, only=as_text(runner.get("name")))
        return
    reason = "a runtime is a template: the model comes from the service that uses it"
    opened = (Open("base: model.id", reason, suggestion="import the InferenceService too"),)
    for service in _containers(spec, name, path, maps):
        has_model = any(word.startswith(("--model=", "--model-path", "--model-id")) for word in service.argv)
        yield service if has_model else _with_open(service, opened)


def _llm_inference_service(
    spec: dict[str, Json], name: str, path: str, maps: Mapping[str, dict[str, Json]]
) -> Iterator[Service]:
    template = as_mapping(spec.get("template"))
    model = as_mapping(spec.get("model"))
    known = _storage(as_text(model.get("uri")))
    reason = "the cluster's LLMInferenceServiceConfig supplies the image and its arguments"
    opened = (
        Open("base: image.ref", reason, suggestion="name the image with its digest"),
        Open("base: engine.version", reason, suggestion="the version inside that image"),
        Open("base: engine.options", reason, suggestion="read them back from the running server"),
    )
    pod = template or {"containers": [{"name": "main"}]}
    for service in _containers(pod, name, path, maps, only="main", known=known, engine="vllm"):
        yield service if service.image else _with_open(service, opened)


def _storage(uri: str) -> Imported:
    """`hf://org/model[:revision]` as the model; another scheme names a place, not a version."""
    if not uri:
        return Imported()
    if not uri.startswith("hf://"):
        reason = f"`{uri}` names a place whose content can change"
        return Imported(
            base={"model": {"id": uri}},
            left_open=(Open("base: model.weights.files", reason, suggestion="tierlock capture --weights"),),
        )
    name, _, revision = uri.removeprefix("hf://").partition(":")
    model: dict[str, Json] = {"id": name}
    if revision:
        model["revision"] = revision
    return Imported(base={"model": model})


def _with_open(service: Service, opened: Sequence[Open]) -> Service:
    return replace(service, left_open=(*service.left_open, *opened))
