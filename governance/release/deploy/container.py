"""The `container` driver: one container of podman or docker, from an image by digest.

- The image is fetched before the running container is touched. The new container is made beside the old one
  and takes its name; when it cannot be started, the old one is put back and started.
- A kill at any point leaves one of three names behind (`NAME`, `NAME-next`, `NAME-former`); the next
  deployment tidies them up, and what runs is found by its label, not by its name.
- Mounts, variables and program come from the base config. `deploy.arguments` may not say them again.
- A container of the name without our label is a stranger: it is refused and left alone.
"""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from governance.adapters import environment
from governance.adapters.containers import Container, Engine
from governance.engines.keys import look
from governance.errors import Unreachable, Unreadable, Usage
from governance.fingerprint.layers import short
from governance.release.deploy.contained import (
    GRACE,
    LABEL,
    check_mounts,
    digest_of,
    labels_of,
    pinned_image,
    replica,
    stop_all,
    words_of,
)
from governance.release.deploy.host import refuse_a_stranger
from governance.release.deploy.model import Replica, Target
from governance.release.deploy.target import host_source, mounts_of
from governance.values import Tree, Unknown

NAME: Final = "container"
RUNTIME: Final = "podman"
_LINES: Final = 15
_OWN: Final = frozenset(
    {"--env", "--env-file", "--volume", "--mount", "--volumes-from", "--tmpfs", "--entrypoint", "--name",
     "--label", "--label-file", "--rm", "--pull", "--workdir"}
)  # fmt: skip
_OWN_SHORT: Final = ("-e", "-v", "-l", "-w")


def check(target: Target) -> None:
    """Return when `deploy` has all it needs; writes nothing."""
    pinned_image(target)
    _arguments(target)
    environment.resolved(target.launch.environment)
    check_mounts(target)
    engine = _engine(target)
    names = (_name(target), _next(target), _former(target))
    for found in (engine.find(name) for name in names):
        if found is not None and not _is_ours(found, target):
            raise Usage(
                f"there is a container `{found.name}` that tierlock did not start",
                where="deploy.container",
                hint=engine.line("rm", found.name) + ", or set another `deploy.container`",
            )
    if not any(one.running for one in _ours(engine, target)):
        refuse_a_stranger(target)


def plan(target: Target) -> tuple[str, ...]:
    """What `deploy` would do, one line each."""
    engine, image = _engine(target), pinned_image(target)
    lines = [] if engine.has(image) else [engine.line("pull", image)]
    for one in _ours(engine, target):
        if one.running:
            digest = digest_of(image, one.digests)
            release, fingerprint = (
                one.labels.get(f"{LABEL}.{key}", "") for key in ("release", "fingerprint")
            )
            was = f"{release} {short(fingerprint)}".strip()
            lines.append(f"{engine.line('stop', one.name)}   # {was}, image {digest[:19]}")
    entrypoint, *rest = words_of(target)
    options = ["--detach", "--name", _name(target), *_options(target, entrypoint)]
    return (*lines, engine.line("run", *options, image, *rest))


def deploy(target: Target) -> None:
    """Replace the container of this service by one of `target`."""
    check(target)
    engine, image = _engine(target), pinned_image(target)
    _fetch(engine, image, str(look(target.base, "image.pull_policy")))
    _tidy(engine, target)
    entrypoint, *rest = words_of(target)
    secrets = environment.references(target.launch.environment)
    values = environment.resolved({name: target.launch.environment[name] for name in secrets})
    engine.create(_next(target), image, options=_options(target, entrypoint), argv=rest, secrets=values)
    for one in _ours(engine, target):
        if one.running:
            engine.stop(one.name, grace=GRACE)
    _swap(engine, target)


def running(target: Target) -> tuple[Replica, ...] | Unknown:
    """The containers of this service that run, each with the digest of the image it really runs."""
    try:
        found = _ours(_engine(target), target)
    except (Unreachable, Unreadable) as err:
        return Unknown(err.message)
    return tuple(replica(one, target) for one in found if one.running)


def stop(target: Target) -> None:
    """End and remove the containers of this service."""
    engine = _engine(target)
    stop_all(engine, _ours(engine, target))


def log(target: Target) -> str:
    """The last lines of the container."""
    return _engine(target).logs(_name(target), lines=_LINES)


def _engine(target: Target) -> Engine:
    return Engine(shlex.split(str(target.settings.get("runtime", RUNTIME))))


def _name(target: Target) -> str:
    return str(target.settings.get("container", f"tierlock-{target.service}"))


def _next(target: Target) -> str:
    return f"{_name(target)}-next"


def _former(target: Target) -> str:
    return f"{_name(target)}-former"


def _ours(engine: Engine, target: Target) -> tuple[Container, ...]:
    return engine.labelled(f"{LABEL}.service={target.service}")


def _is_ours(found: Container, target: Target) -> bool:
    return found.labels.get(f"{LABEL}.service") == target.service


def _fetch(engine: Engine, image: str, policy: str) -> None:
    if policy == "always" or not engine.has(image):
        if policy == "never":
            raise Unreadable(f"`{image}` is not on this host, and `image.pull_policy` is never")
        engine.pull(image)


def _tidy(engine: Engine, target: Target) -> None:
    """Mend what a killed deployment has left: the container that runs, or ran last, has the name again."""
    if engine.find(_next(target)) is not None:
        engine.remove(_next(target))
    current, former = engine.find(_name(target)), engine.find(_former(target))
    if former is None:
        return
    if current is not None and current.running:
        engine.remove(_former(target))
        return
    if current is not None:
        engine.remove(_name(target))
    engine.rename(_former(target), _name(target))


def _swap(engine: Engine, target: Target) -> None:
    """The new container takes the name and is started; the old one is back when it cannot be."""
    name, former = _name(target), _former(target)
    had = engine.find(name) is not None
    if had:
        engine.rename(name, former)
    engine.rename(_next(target), name)
    try:
        engine.start(name)
    except Unreachable as err:
        tail = engine.logs(name, lines=_LINES)
        engine.remove(name)
        if had:
            engine.rename(former, name)
            engine.start(name)
        raise Unreachable("\n".join([err.message, *([tail] if tail else [])]), where=name) from err
    if had:
        engine.remove(former)


def _options(target: Target, entrypoint: str) -> list[str]:
    options = [f"--label={key}={value}" for key, value in labels_of(target).items()]
    secrets = environment.references(target.launch.environment)
    for name, value in sorted(target.launch.environment.items()):
        options += ["--env", name if name in secrets else f"{name}={value}"]
    for mount in mounts_of(target.base):
        options += ["--mount", _mount(mount, target.root)]
    platform = look(target.base, "image.platform")
    if isinstance(platform, str):
        options += ["--platform", platform]
    arguments = _arguments(target)
    words = " ".join(arguments)
    if "--network" not in words and "--net" not in words:
        host = f"[{target.host}]" if ":" in target.host else target.host
        options += ["--publish", f"{host}:{target.port}:{target.port}"]
    if "--restart" not in words:
        options += ["--restart", "unless-stopped"]
    return [*options, *arguments, "--entrypoint", entrypoint]


def _arguments(target: Target) -> list[str]:
    """The arguments of the deployment. Raises `Usage` for what the base config has to say."""
    found = target.settings.get("arguments")
    words = [str(word) for word in found] if isinstance(found, list | tuple) else []
    for word in words:
        flag = word.partition("=")[0]
        short_one = word[:2] in _OWN_SHORT and not word.startswith("--")
        if flag in _OWN or short_one:
            raise Usage(
                f"`{flag}` may not be among the arguments of the container",
                where="deploy.arguments",
                hint="say it in the base config: `image.mounts`, `image.entrypoint`, `environment.variables`",
            )
    return words


def _mount(mount: Tree, root: Path) -> str:
    source = host_source(mount, root)
    kind = "volume" if source is None else "bind"
    fields = [f"type={kind}", f"source={source or mount['source']}", f"target={mount['target']}"]
    if mount.get("read_only", False):
        fields.append("readonly")
    return _quoted(fields)


def _quoted(fields: Iterable[str]) -> str:
    """One line of CSV: what both engines read after `--mount`."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(fields)
    return text.getvalue()
