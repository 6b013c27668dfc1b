"""The `kubernetes` driver: one workload of a cluster by `kubectl`, or of this host by `podman kube play`.

- The manifest is rendered, or is the user's with the release laid into it (`manifest.py`); it is applied by
  the server, and fields that somebody changed with `kubectl set` or `edit` are taken back.
- `deploy` waits for the rollout: until then the pods of before go on answering, and stay when it fails.
- What runs is asked pod by pod: image digest, start and release of each, so a mixture has names.
- `deploy.runtime: podman` plays the same manifest on this host.
"""

from __future__ import annotations

import json
import shlex
from datetime import datetime
from typing import Any, Final

from governance.adapters import programs
from governance.adapters.containers import Container, Engine
from governance.adapters.kubectl import Cluster
from governance.errors import MissingTool, Unreachable, Unreadable
from governance.release.deploy.contained import LABEL, check_mounts, pinned_image, replica
from governance.release.deploy.manifest import (
    container_name,
    container_of,
    name_of,
    objects,
    pod_of,
    workload_of,
)
from governance.release.deploy.model import Replica, Target
from governance.release.deploy.ready import TIMEOUT
from governance.release.deploy.target import plays_here
from governance.values import Unknown

NAME: Final = "kubernetes"
RUNTIME: Final = "kubectl"
_LINES: Final = 15


def check(target: Target) -> None:
    """Return when `deploy` has all it needs; writes nothing."""
    found = _objects(target)
    pinned_image(target)
    if _plays(target):
        check_mounts(target)
        _ours(target)
    else:
        _cluster(target).get(_kind(found, target), name_of(target))


def plan(target: Target) -> tuple[str, ...]:
    """What `deploy` would do, one line each."""
    found = _objects(target)
    lines = json.dumps(found, indent=2).splitlines()
    if _plays(target):
        return (*lines, shlex.join([*_words(target), *_play(target)]))
    name = f"{_kind(found, target)}/{name_of(target)}"
    words = shlex.join(_cluster(target).words)
    return (*lines, f"{words} apply --server-side --filename -", f"{words} rollout status {name}")


def deploy(target: Target) -> None:
    """Apply the manifest, and wait until every pod is one of `target`."""
    check(target)
    found = _objects(target)
    if _plays(target):
        _play_it(found, target)
        return
    cluster, kind, name = _cluster(target), _kind(found, target), name_of(target)
    cluster.apply(found, *_arguments(target))
    _take_back(cluster, found, target)
    try:
        cluster.wait(kind, name, timeout=float(str(target.settings.get("ready_timeout_s", TIMEOUT))))
    except Unreachable as err:
        tail = log(target)
        raise Unreachable(
            "\n".join([err.message, *([tail] if tail else [])]), where=f"{kind}/{name}"
        ) from err


def running(target: Target) -> tuple[Replica, ...] | Unknown:
    """The pods of this service that run, each as the cluster shows it."""
    try:
        if _plays(target):
            return tuple(replica(one, target) for one in _ours(target) if one.running)
        return tuple(one for pod in _pods(target) if (one := _replica(pod, target)) is not None)
    except (Unreachable, Unreadable, MissingTool) as err:
        return Unknown(err.message)


def stop(target: Target) -> None:
    """Remove the workload."""
    if _plays(target):
        _remove_pods(target)
    else:
        _cluster(target).delete(_kind(_objects(target), target), name_of(target))


def log(target: Target) -> str:
    """The last lines of the newest pod that says something."""
    if _plays(target):
        found = [one.name for one in _ours(target)]
        return Engine(_words(target)).logs(found[-1], lines=_LINES) if found else ""
    try:
        pods = sorted(_pods(target), key=lambda pod: str(pod["metadata"].get("creationTimestamp")))
    except (Unreachable, Unreadable):
        return ""
    logs = (_cluster(target).logs(str(pod["metadata"]["name"]), container_name(target)) for pod in pods[::-1])
    return next((text for text in logs if text), "")


def _objects(target: Target) -> list[Any]:
    return objects(target, played=_plays(target))


def _ours(target: Target) -> tuple[Container, ...]:
    return Engine(_words(target)).labelled(f"{LABEL}.service={target.service}")


def _play(target: Target) -> list[str]:
    return ["kube", "play", "--replace", *_play_arguments(target), "-"]


def _play_arguments(target: Target) -> list[str]:
    """The network is in the manifest: podman would refuse it there and here."""
    found, words = [], iter(_arguments(target))
    for word in words:
        if word in ("--network", "--net"):
            next(words, "")
        elif not word.startswith(("--network=", "--net=")):
            found.append(word)
    return found


def _play_it(found: list[Any], target: Target) -> None:
    engine, image = Engine(_words(target)), pinned_image(target)
    if not engine.has(image):
        engine.pull(image)
    _remove_pods(target)
    text = "".join(f"---\n{json.dumps(one)}\n" for one in found)
    said = programs.run([*engine.words, *_play(target)], given=text.encode())
    if said.status != 0:
        raise Unreachable(f"`podman kube play` failed: {said.last_line.removeprefix('Error: ')}")


def _remove_pods(target: Target) -> None:
    """End the pods that hold a container of this service."""
    words = _words(target)
    label = f"label={LABEL}.service={target.service}"
    listed = programs.run([*words, "pod", "ps", "--filter", label, "--format", "{{.Id}}"])
    if listed.status != 0:
        raise Unreachable(f"`podman pod ps` failed: {listed.last_line}")
    for pod in listed.out.decode().split():
        said = programs.run([*words, "pod", "rm", "--force", pod])
        if said.status != 0:
            raise Unreachable(f"the pod `{pod[:12]}` cannot be removed: {said.last_line}")


def _words(target: Target) -> list[str]:
    return shlex.split(str(target.settings.get("runtime", RUNTIME)))


def _plays(target: Target) -> bool:
    return plays_here(target.settings)


def _cluster(target: Target) -> Cluster:
    words = _words(target)
    for flag in ("context", "namespace"):
        if said := target.settings.get(flag):
            words += [f"--{flag}", str(said)]
    return Cluster(words)


def _arguments(target: Target) -> list[str]:
    said = target.settings.get("arguments")
    return [str(word) for word in said] if isinstance(said, list | tuple) else []


def _kind(found: list[Any], target: Target) -> str:
    return str(workload_of(found, target)["kind"]).lower()


def _take_back(cluster: Cluster, found: list[Any], target: Target) -> None:
    """Variables that somebody added to the workload in the cluster stay when a manifest is applied."""
    kind, name = _kind(found, target), name_of(target)
    wanted = container_of(pod_of(workload_of(found, target)), target)
    live = cluster.get(kind, name)
    containers = [] if live is None else pod_of(live)["spec"].get("containers") or []
    for number, one in enumerate(containers):
        names = {each.get("name") for each in one.get("env") or ()}
        if one.get("name") == wanted["name"] and names - {each["name"] for each in wanted["env"]}:
            path = f"/spec/template/spec/containers/{number}/env"
            cluster.patch(kind, name, [{"op": "replace", "path": path, "value": wanted["env"]}])


def _pods(target: Target) -> list[dict[str, Any]]:
    """The pods of the workload by its own selector: those from before tierlock are among them."""
    cluster = _cluster(target)
    live = cluster.get(_kind(_objects(target), target), name_of(target))
    if live is None:
        return []
    labels = live["spec"].get("selector", {}).get("matchLabels") or {}
    return cluster.listed("pods", ",".join(f"{key}={value}" for key, value in sorted(labels.items())))


def _replica(pod: dict[str, Any], target: Target) -> Replica | None:
    """A pod as a server; None for one that does not run, or gets no more requests."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    server = container_of(pod, target)
    states = [one for one in status.get("containerStatuses") or () if one.get("name") == server.get("name")]
    began = states[0].get("state", {}).get("running", {}).get("startedAt") if states else None
    if began is None or metadata.get("deletionTimestamp"):
        return None
    digest = str(states[0].get("imageID") or "").rpartition("@")[2]
    return Replica(
        f"pod {metadata['name']}",
        f"http://{status['podIP']}:{target.port}" if status.get("podIP") else target.url,
        datetime.fromisoformat(str(began)).timestamp(),
        digest if digest.startswith("sha") else Unknown("the cluster does not show the digest of the image"),
        (*map(str, server.get("command") or ()), *map(str, server.get("args") or ())),
        str((metadata.get("annotations") or {}).get(f"{LABEL}.fingerprint", "")),
        int(states[0].get("restartCount") or 0),
    )
