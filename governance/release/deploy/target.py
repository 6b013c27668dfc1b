"""What shall run for a service: its base config rendered into a launch, and where it is reached.

- The launch is the engine module's, with the address and the path of the weights of this deployment filled
  in; nothing else is added to it.
- `deploy.environment` may hold what a deployment needs (credentials, caches, which GPUs). A variable that
  shapes answers is refused there: it belongs into the base config, where it is reviewed and fingerprinted.
- The path of the weights is what the server is told. In a container it is a path of the image or of a mount
  of the base config; on the host it is relative to the root of the repository.
- A reference to a secret stays a reference.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from governance.adapters import hubs
from governance.engines import registry
from governance.engines.keys import look
from governance.engines.model import Launch
from governance.errors import Unreadable, Usage
from governance.fingerprint.image import parse_reference
from governance.fingerprint.services import fingerprint_of
from governance.records import dataclass
from governance.release.deploy.model import Target
from governance.tiers.config import TIERS, Service
from governance.tiers.rules.variables import variable
from governance.values import Json, Tree, Unknown

if TYPE_CHECKING:
    from governance.release.sides import Place

CONTAINED: Final = frozenset({"container", "compose", "kubernetes"})
"""Drivers whose server sees the files of an image, not those of this host."""
ANYWHERE: Final = "0.0.0.0"  # noqa: S104  inside a container nobody else is reached by it
_HOST_NETWORK: Final = frozenset({"--network=host", "--net=host"})
# Which of the host's devices a deployment takes is no property of the release; their class is (`hardware`).
DEVICES: Final = frozenset({"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"})


@dataclass(frozen=True, slots=True)
class Weights:
    """Where the weights lie: on this host, and where the server is told to look.

    `host` is None when no file of this host is meant (they are in the image, or the engine fetches them),
    `told` is None when the server finds them by the model's name.
    """

    host: Path | None
    told: str | None


def target_of(service: Service, place: Place, *, release: str) -> Target:
    """What `service` is to run as, at this place. `release` is the id it is started under.

    Raises `Unreadable` when a config does not load, `Usage` naming the key that cannot be rendered.
    """
    folded = fingerprint_of(service).only(TIERS).fold()
    if service.base is None or isinstance(folded, Unknown):
        reason = folded.reason if isinstance(folded, Unknown) else "the base config does not load"
        raise Unreadable(f"`{service.name}` cannot be deployed: {reason}", hint="tierlock check")
    settings, base, root = settings_of(service), service.base.tree, Path(place.root)
    host, port = _reached(service, settings)
    return Target(
        service=service.name,
        release=release,
        fingerprint=folded,
        launch=_launch(base, settings, _listening(settings, host), port, weights_of(service, root)),
        image=_image(base),
        host=host,
        port=port,
        settings=settings,
        root=root,
        state=state_folder(place, service.name),
        base=base,
        address=_address(service, settings),
    )


def settings_of(service: Service) -> Tree:
    """The `deploy` block of `service`; empty without one."""
    found = service.tree.get("deploy")
    return found if isinstance(found, Mapping) else {}


def driver_of(settings: Tree) -> str:
    """The driver a `deploy` block names; `none` without one."""
    return str(settings.get("driver", "none"))


def state_folder(place: Place, service: str) -> Path:
    """The folder of this clone that notes about `service` are kept in; it is never committed."""
    git = place.git()
    if git is None:
        raise Unreadable("a deployment needs a git repository around it", where=place.root, hint="git init")
    common = git.run("rev-parse", "--git-common-dir").decode("utf-8", "surrogateescape").removesuffix("\n")
    return Path(git.root, common, "tierlock", service)


def weights_of(service: Service, root: Path) -> Weights:
    """Where the weights of `service` lie: `deploy.weights` or a `model.id` that is a path, seen through the
    mounts of the image, else the hub cache.
    """
    settings = settings_of(service)
    base = service.base.tree if service.base is not None else {}
    given = settings.get("weights", model_path(base))
    contained = driver_of(settings) in CONTAINED
    if not isinstance(given, str):
        return Weights(None, None) if contained else _cached(base)
    if not contained:
        return Weights(root / given, str(_first(root / given, base)))
    return _mounted(given, base, root) or Weights(None, str(_first(Path(given), base)))


def model_path(base: Tree) -> str | None:
    """`model.id` when it is a path: engines take one for a folder or a file, never for a name on a hub."""
    model = look(base, "model.id")
    return model if isinstance(model, str) and model.startswith(("/", "./", "../")) else None


def _cached(base: Tree) -> Weights:
    """The snapshot of the model in the hub cache. An engine that knows hubs finds it by itself."""
    model, revision = look(base, "model.id"), look(base, "model.revision")
    if not isinstance(model, str) or not isinstance(revision, str):
        return Weights(None, None)
    found = hubs.snapshot(hubs.cache_folder(), model, revision)
    if isinstance(found, Unknown):
        return Weights(None, None)
    first = _first(found.folder, base)
    return Weights(found.folder, str(first) if first != found.folder else None)


def _first(path: Path, base: Tree) -> Path:
    """What an engine is pointed at: a GGUF file, the first of several, or the folder."""
    files = look(base, "model.weights.files")
    if look(base, "model.weights.format") != "gguf" or path.suffix == ".gguf":
        return path
    names = [name for name in sorted(files) if "mmproj" not in name] if isinstance(files, Mapping) else []
    return path / names[0] if names else path


def _mounted(given: str, base: Tree, root: Path) -> Weights | None:
    """The path on both sides of the mount that covers it; None when none does."""
    for mount in mounts_of(base):
        source, inside = host_source(mount, root), Path(str(mount["target"]))
        if source is None:
            continue
        for path, above in ((root / given, source), (Path(given), inside)):
            if path.is_relative_to(above):
                rest = path.relative_to(above)
                return Weights(source / rest, str(_first(inside / rest, base)))
    return None


def mounts_of(base: Tree) -> tuple[Tree, ...]:
    """The mounts of the image, as the base config has them."""
    found = look(base, "image.mounts")
    return tuple(one for one in found if isinstance(one, Mapping)) if isinstance(found, list | tuple) else ()


def host_source(mount: Tree, root: Path) -> Path | None:
    """The path of this host that is mounted; None for a volume or another object with a name."""
    source = str(mount["source"])
    return root / source if "/" in source or source.startswith(".") else None


def _launch(base: Tree, settings: Tree, host: str, port: int, weights: Weights) -> Launch:
    name = str(look(base, "engine.name"))
    try:
        launch = registry.load(name).render(base, host=host, port=port, weights=weights.told)
    except Usage as err:
        hint = "say where the file lies: `deploy.weights`" if err.where == "model.revision" else err.hint
        raise Usage(err.message, where=err.where, hint=hint) from err
    binary = settings.get("binary")
    argv = (binary, *launch.argv[1:]) if isinstance(binary, str) else launch.argv
    return Launch(argv, {**launch.environment, **_environment(settings, launch.environment)})


def _environment(settings: Tree, declared: Mapping[str, str]) -> dict[str, str]:
    found = settings.get("environment")
    variables = {name: str(value) for name, value in found.items()} if isinstance(found, Mapping) else {}
    for name in variables:
        kind = variable(name)
        shapes = kind.effect == "output" and name not in DEVICES
        if name in declared or shapes:
            why = "the base config sets it" if name in declared else kind.reason
            raise Usage(
                f"`{name}` may not be set where the service is deployed: {why}",
                where=f"deploy.environment.{name}",
                hint="set it in `environment.variables` of the base config",
            )
    return variables


def _image(base: Tree) -> str:
    ref = look(base, "image.ref")
    if not isinstance(ref, str):
        return ""
    parsed = parse_reference(ref)
    return f"{parsed.host}/{parsed.name}@{parsed.digest}" if parsed.pinned else ref


def _endpoint(service: Service) -> str:
    found = service.tree.get("endpoint")
    return str(found.get("url", "")) if isinstance(found, Mapping) else ""


def _reached(service: Service, settings: Tree) -> tuple[str, int]:
    """Host and port by `deploy`, else by the endpoint."""
    parts = urlsplit(_endpoint(service))
    host: Json = settings.get("host") or _plain_host(parts.hostname or "")
    port: Json = settings.get("port") or parts.port
    contained = driver_of(settings) in ("compose", "kubernetes")
    for key, value in (("host", host or contained), ("port", port)):
        if not value:
            raise Usage(
                f"nothing says which {key} `{service.name}` listens on",
                where=f"services.{service.name}.deploy.{key}",
                hint=f"set `deploy.{key}` in tierlock.yaml",
            )
    return str(host or ANYWHERE), int(str(port))


def _plain_host(host: str) -> str:
    """`host` when a server can listen on it by that name: an address, or localhost."""
    if host == "localhost":
        return "127.0.0.1"
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return ""


def _listening(settings: Tree, host: str) -> str:
    """What the server itself binds: in a network of its own everything, else the host it is reached at."""
    own = driver_of(settings) in CONTAINED and not shares_network(settings)
    return ANYWHERE if own else host


def shares_network(settings: Tree) -> bool:
    """Whether the container is given the network of the host."""
    arguments = settings.get("arguments")
    words = [str(word) for word in arguments] if isinstance(arguments, list | tuple) else []
    joined = {*words, *(f"{one}={two}" for one, two in pairwise(words))}
    return bool(joined & _HOST_NETWORK)


def plays_here(settings: Tree) -> bool:
    """Whether a Kubernetes manifest is played by podman on this host, without a cluster."""
    words = str(settings.get("runtime", "")).split()
    return driver_of(settings) == "kubernetes" and bool(words) and words[0].rpartition("/")[2] == "podman"


def _address(service: Service, settings: Tree) -> str:
    """The address of the endpoint, where the driver starts the server somewhere else than here."""
    if driver_of(settings) not in ("kubernetes", "command") or plays_here(settings):
        return ""
    return _endpoint(service).rstrip("/").removesuffix("/v1")
