"""Compose files: each service whose command or image starts an inference engine.

- `${NAME:-default}` is Compose's own interpolation; the default is used where there is one, and the value is
  listed as left open, since the host decides it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from governance.engines.model import Open
from governance.engines.sources.command import expand, read_command, read_mount, references
from governance.engines.sources.detect import (
    PROGRAMS,
    from_argv,
    from_environment,
    from_image,
    version_of,
)
from governance.engines.sources.model import Hardware, Mount, Service, as_list, as_mapping, as_text
from governance.values import Json


def services(document: Json, *, path: str) -> Iterator[Service]:
    """Each inference server of one compose file."""
    for name, value in as_mapping(as_mapping(document).get("services")).items():
        service = _service(name, as_mapping(value), path)
        if service.engine:
            yield service


def _service(name: str, spec: dict[str, Json], path: str) -> Service:
    environment = _environment(spec.get("environment"))
    entrypoint = _words(spec.get("entrypoint"))
    words = [*entrypoint, *_words(spec.get("command"))]
    command = read_command(words, environment)
    image = as_text(spec.get("image"))
    engine = from_argv(command.argv) or from_image(image) or from_environment(environment)
    argv = command.argv if from_argv(command.argv) else (*PROGRAMS.get(engine, ()), *command.argv)
    mounts = [mount for entry in as_list(spec.get("volumes")) for mount in _mounts(entry)]
    texts = [image, *words, *environment.values(), *(mount.source for mount in mounts)]
    names = dict.fromkeys(found for text in texts for found in references(text))
    reason = "Compose takes it from the host's environment"
    left_open = tuple(Open(f"base: ${{{found}}}", reason, suggestion="write the value") for found in names)
    if spec.get("build") and not image:
        built = Open(
            "base: image.ref", "the image is built on the host", suggestion="push it, name its digest"
        )
        left_open = (*left_open, built)
    return Service(
        name=name,
        where=path,
        engine=engine,
        version=version_of(expand(image, {})),
        image=expand(image, {}),
        argv=argv,
        environment={**environment, **command.environment},
        mounts=tuple(mounts),
        hardware=_hardware(spec),
        installs=command.installs,
        entrypoint=tuple(entrypoint) if command.installs else (),
        left_open=left_open,
    )


def _words(value: Json | None) -> list[str]:
    if isinstance(value, str):
        return shlex.split(value)
    return [as_text(word) for word in as_list(value)]


def _environment(value: Json | None) -> dict[str, str]:
    if isinstance(value, dict):
        return {key: as_text(item) if item is not None else f"env:{key}" for key, item in value.items()}
    pairs = (as_text(item).partition("=") for item in as_list(value))
    return {name: text if equals else f"env:{name}" for name, equals, text in pairs}


def _mounts(entry: Json) -> list[Mount]:
    if isinstance(entry, dict):
        source, target = as_text(entry.get("source")), as_text(entry.get("target"))
        laid_over = entry.get("type") != "tmpfs" and source
        return [Mount(source, target, entry.get("read_only") is True)] if laid_over else []
    return [Mount(expand(m.source, {}), m.target, m.read_only) for m in read_mount(as_text(entry))]


def _hardware(spec: dict[str, Json]) -> Hardware:
    if spec.get("runtime") == "nvidia" or spec.get("gpus"):
        return Hardware("cuda")
    resources = as_mapping(as_mapping(spec.get("deploy")).get("resources"))
    for device in map(as_mapping, as_list(as_mapping(resources.get("reservations")).get("devices"))):
        if "gpu" in as_list(device.get("capabilities")):
            listed = as_list(device.get("device_ids"))
            count = len(listed) or as_text(device.get("count"))
            return Hardware("cuda", count=int(count) if str(count).isdigit() else None)
    return Hardware()
