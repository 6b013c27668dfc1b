"""The `compose` driver: one service of a compose project, with what the base config says laid over it.

- `deploy.file` is the user's own compose file; networks, devices, volumes for caches stay theirs. Image by
  digest, command, variables and mounts come from a second file that is rendered and laid over it. Without
  `deploy.file` the rendered file is the whole project.
- A command or entrypoint in the user's file is refused: some versions of compose add the rendered words to
  it. Variables that shape answers are refused there and in its `env_file`: they would reach the server
  without being in the release.
- A secret is written `${NAME}`: compose takes it from the environment when it starts the service.
- What runs is asked of the container engine, by label.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from governance.adapters import environment, programs
from governance.adapters.containers import Container, Engine
from governance.adapters.files import read_file, write_atomic
from governance.errors import Unreachable, Unreadable, Usage
from governance.release.deploy.contained import (
    LABEL,
    check_mounts,
    labels_of,
    pinned_image,
    replica,
    stop_all,
    words_of,
)
from governance.release.deploy.model import Replica, Target
from governance.release.deploy.target import DEVICES, host_source, mounts_of
from governance.tiers.foreign import documents
from governance.tiers.rules.variables import variable
from governance.tiers.writer import dump
from governance.values import Json, Tree, Unknown

NAME: Final = "compose"
RUNTIME: Final = "docker compose"
RENDERED: Final = "compose.tierlock.yaml"
_PODMAN: Final = "podman-compose"
_LINES: Final = 15


def check(target: Target) -> None:
    """Return when `deploy` has all it needs; writes nothing."""
    pinned_image(target)
    environment.resolved(target.launch.environment)
    if (file := _file(target)) is not None:
        spec = _service_of(file, target)
        for name, where in _variables(spec, file.parent):
            known = variable(name)
            if name in target.launch.environment or (known.effect == "output" and name not in DEVICES):
                ours = name in target.launch.environment
                raise Usage(
                    f"`{name}` may not be set in {where}: "
                    + ("the release sets it" if ours else known.reason),
                    where=f"{target.settings['file']}: services.{_service(target)}",
                    hint="set it in `environment.variables` of the base config",
                )
    check_mounts(target)
    _call(target, "version")
    _engine(target).labelled(_label(target))


def plan(target: Target) -> tuple[str, ...]:
    """What `deploy` would do, one line each."""
    lines = [f"write   {target.state / NAME / RENDERED}"]
    lines += [f"        {line}" for line in render(target).splitlines()]
    return (*lines, shlex.join(_up(target)))


def deploy(target: Target) -> None:
    """Write the rendered file and have compose create the service anew."""
    check(target)
    engine, image = _engine(target), pinned_image(target)
    if not engine.has(image):
        engine.pull(image)
    # Removed here: another clone of the repository is another project to compose, and would keep the port.
    stop_all(engine, _ours(target))
    write_atomic(target.state / NAME / RENDERED, render(target).encode())
    _call(target, *_up(target)[len(_words(target)) :])
    if not any(one.labels.get(f"{LABEL}.fingerprint") == target.fingerprint for one in _ours(target)):
        raise Unreachable(f"compose has not created `{_service(target)}`", hint=shlex.join(_up(target)))


def running(target: Target) -> tuple[Replica, ...] | Unknown:
    """The containers of this service that run, each with the digest of the image it really runs."""
    try:
        found = _ours(target)
    except (Unreachable, Unreadable) as err:
        return Unknown(err.message)
    return tuple(replica(one, target) for one in found if one.running)


def stop(target: Target) -> None:
    """End and remove the containers of this service; the rest of the project stays."""
    stop_all(_engine(target), _ours(target))


def log(target: Target) -> str:
    """The last lines of the newest container."""
    found = _ours(target)
    return _engine(target).logs(found[-1].name, lines=_LINES) if found else ""


def render(target: Target) -> str:
    """The compose file that is laid over the user's, or stands alone."""
    entrypoint, *rest = words_of(target)
    secrets = environment.references(target.launch.environment)
    service: dict[str, Json] = {
        "image": pinned_image(target),
        "entrypoint": [_plain(entrypoint)],
        "command": [_plain(word) for word in rest],
        "labels": labels_of(target),
        "environment": {
            name: f"${{{secrets[name]}}}" if name in secrets else _plain(value)
            for name, value in sorted(target.launch.environment.items())
        },
    }
    if mounts := [_mount(mount, target.root) for mount in mounts_of(target.base)]:
        service["volumes"] = mounts
    if _file(target) is None:
        service["restart"] = "unless-stopped"
        service["ports"] = [f"{target.host}:{target.port}:{target.port}"]
    return dump({"services": {_service(target): service}})


def _plain(text: str) -> str:
    """`$` begins a variable of compose's own."""
    return text.replace("$", "$$")


def _mount(mount: Tree, root: Path) -> Json:
    source = host_source(mount, root)
    return {
        "type": "volume" if source is None else "bind",
        "source": _plain(str(source or mount["source"])),
        "target": _plain(str(mount["target"])),
        "read_only": bool(mount.get("read_only", False)),
    }


def _service(target: Target) -> str:
    return str(target.settings.get("service", target.service))


def _file(target: Target) -> Path | None:
    said = target.settings.get("file")
    return target.root / str(said) if said else None


def _service_of(file: Path, target: Target) -> Tree:
    """The service's own entry in the user's file. Raises `Usage` when it is not in it."""
    name = _service(target)
    found = documents(read_file(file, shown=str(target.settings["file"])).decode("utf-8", "replace"))
    tree = found[0].tree if found else {}
    services = tree.get("services") if isinstance(tree, Mapping) else None
    spec = services.get(name) if isinstance(services, Mapping) else None
    if not isinstance(spec, Mapping):
        names = ", ".join(services) if isinstance(services, Mapping) else "none"
        raise Usage(
            f"there is no service `{name}` in `{target.settings['file']}`",
            where="deploy.service",
            hint=f"there are: {names}",
        )
    for key in ("command", "entrypoint", "extends"):
        if key in spec:
            raise Usage(
                f"`{key}` may not be in the compose file: the release says what is started",
                where=f"{target.settings['file']}: services.{name}",
                hint=f"remove `{key}`",
            )
    return spec


def _variables(spec: Tree, folder: Path) -> Iterator[tuple[str, str]]:
    """The variables the user's file sets, each with where."""
    said = spec.get("environment")
    for word in said if isinstance(said, Mapping | list | tuple) else ():
        yield str(word).partition("=")[0], "the compose file"
    files = spec.get("env_file")
    for entry in files if isinstance(files, list | tuple) else [files] if files else ():
        name = str(entry.get("path")) if isinstance(entry, Mapping) else str(entry)
        for line in read_file(folder / name, shown=name).decode("utf-8", "replace").splitlines():
            if "=" in line and not line.lstrip().startswith("#"):
                yield line.partition("=")[0].strip().removeprefix("export "), f"`{name}`"


def _words(target: Target) -> list[str]:
    return shlex.split(str(target.settings.get("runtime", RUNTIME)))


def _engine(target: Target) -> Engine:
    """The container engine that compose speaks to: docker, podman, or the one podman-compose is told."""
    words = _words(target)
    for flag, value in zip(words, [*words[1:], ""], strict=True):
        if flag.partition("=")[0] == "--podman-path":
            return Engine([flag.partition("=")[2] or value])
    program = words[0]
    if program.endswith(_PODMAN):
        return Engine([program.removesuffix("-compose")])
    return Engine(words[: words.index("compose")] if "compose" in words else ["docker"])


def _files(target: Target) -> list[str]:
    rendered = str(target.state / NAME / RENDERED)
    file = _file(target)
    if file is None:
        return ["--project-name", f"tierlock-{target.service}", "--file", rendered]
    return ["--file", str(file), "--file", rendered]


def _up(target: Target) -> list[str]:
    return [*_words(target), *_files(target), "up", "--detach", "--force-recreate", _service(target)]


def _call(target: Target, *args: str) -> None:
    words = _words(target)
    said = programs.run([*words, *args], cwd=target.root)
    if said.status != 0:
        verb = args[0] if not args[0].startswith("-") else "up"
        raise Unreachable(f"`{' '.join(words[:2])} {verb}` failed: {said.last_line}")


def _label(target: Target) -> str:
    return f"{LABEL}.service={target.service}"


def _ours(target: Target) -> Sequence[Container]:
    return _engine(target).labelled(_label(target))
