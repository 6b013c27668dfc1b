"""A Kubernetes workload that runs exactly one target: rendered whole, or laid into the user's manifest.

- Image by digest, command, arguments and variables are the release's; a command, or a variable that shapes
  answers, in the user's manifest is refused, and so is `envFrom`, which hides what it sets.
- The release stands in the annotations of the pods: another release is another pod, and each pod says which.
- A secret is a key of the Kubernetes secret `<workload>-env`.
- A mount of the base config with a path is a `hostPath`, one with a name a persistent volume claim.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from governance.adapters import environment
from governance.adapters.files import read_file
from governance.engines.keys import look
from governance.errors import Unreadable, Usage
from governance.release.deploy.contained import LABEL, labels_of, pinned_image, words_of
from governance.release.deploy.model import Target
from governance.release.deploy.ready import TIMEOUT, ready_path
from governance.release.deploy.target import DEVICES, host_source, mounts_of, shares_network
from governance.tiers.foreign import documents
from governance.tiers.rules.variables import variable

KINDS: Final = ("Deployment", "StatefulSet", "DaemonSet")
_PERIOD: Final = 5
_RESOURCES: Final = {"cuda": "nvidia.com/gpu", "rocm": "amd.com/gpu", "tpu": "google.com/tpu"}


def objects(target: Target, *, played: bool = False) -> list[Any]:
    """Every object to apply; the workload is among them. `played` is for `podman kube play` on this host."""
    found = _documents(target)
    spec = container_of(pod_of(workload_of(found, target)), target)
    _refuse(spec, target)
    workload = workload_of(found, target)
    pod = pod_of(workload)
    spec.update(_container(target, spec))
    pod.setdefault("metadata", {}).setdefault("labels", {})[f"{LABEL}.service"] = target.service
    pod["metadata"].setdefault("annotations", {}).update(annotations_of(target))
    if played:
        _for_this_host(pod, spec, target)
    _mount(pod["spec"], spec, target)
    return found


def annotations_of(target: Target) -> dict[str, str]:
    """What each pod says about itself; a fingerprint is too long for a label."""
    return {f"{LABEL}.release": target.release, f"{LABEL}.fingerprint": target.fingerprint}


def name_of(target: Target) -> str:
    """The name of the workload."""
    return str(target.settings.get("workload", target.service))


def container_name(target: Target) -> str:
    """The name of the server's container in the pod."""
    return str(target.settings.get("container", "server"))


def pod_of(workload: dict[str, Any]) -> dict[str, Any]:
    """The template of the pods."""
    found = workload.get("spec", {}).get("template")
    if not isinstance(found, dict) or not isinstance(found.get("spec"), dict):
        raise Usage("the workload has no template for its pods", where="spec.template.spec")
    return found


def workload_of(found: list[Any], target: Target) -> dict[str, Any]:
    """The workload of the target among these objects. Raises `Usage` when it is not there."""
    name = name_of(target)
    for one in found:
        if isinstance(one, dict) and one.get("kind") in KINDS and one.get("metadata", {}).get("name") == name:
            return one
    raise Usage(
        f"there is no {', '.join(KINDS[:-1])} or {KINDS[-1]} `{name}` in `{target.settings.get('file')}`",
        where="deploy.workload",
        hint="name one of the manifest's: `deploy.workload` in tierlock.yaml",
    )


def container_of(pod: dict[str, Any], target: Target) -> dict[str, Any]:
    """The server's container in a template; the only one, where there is only one."""
    found = pod["spec"].get("containers") or []
    wanted = target.settings.get("container")
    fitting = [one for one in found if wanted is None or one.get("name") == wanted]
    if len(fitting) != 1:
        names = ", ".join(str(one.get("name")) for one in found)
        raise Usage(
            f"which container of `{name_of(target)}` the server is cannot be told: {names or 'it has none'}",
            where="deploy.container",
            hint="set `deploy.container` in tierlock.yaml",
        )
    (one,) = fitting
    return one  # type: ignore[no-any-return]


def variables(target: Target) -> list[dict[str, Any]]:
    """The variables of the release, as a container lists them."""
    secrets = environment.references(target.launch.environment)
    found: list[dict[str, Any]] = []
    for name, value in sorted(target.launch.environment.items()):
        if name in secrets:
            reference = {"name": f"{name_of(target)}-env", "key": secrets[name]}
            found.append({"name": name, "valueFrom": {"secretKeyRef": reference}})
        else:
            found.append({"name": name, "value": _plain(value)})
    return found


def _documents(target: Target) -> list[Any]:
    said = target.settings.get("file")
    if said is None:
        return [_rendered(target)]
    found = documents(read_file(target.root / str(said), shown=str(said)).decode("utf-8", "replace"))
    for one in found:
        for fault in one.faults:
            if one.tree is None:
                raise Unreadable(fault.message, where=str(said), hint=fault.hint)
    return [copy.deepcopy(one.tree) for one in found if one.tree]


def _rendered(target: Target) -> dict[str, Any]:
    labels = {f"{LABEL}.service": target.service}
    path = {"httpGet": {"path": ready_path(target), "port": target.port}, "periodSeconds": _PERIOD}
    limit = float(str(target.settings.get("ready_timeout_s", TIMEOUT)))
    server: dict[str, Any] = {
        "name": container_name(target),
        "ports": [{"containerPort": target.port}],
        "startupProbe": {**path, "failureThreshold": max(1, round(limit / _PERIOD))},
        "readinessProbe": path,
    }
    if resources := _resources(target):
        server["resources"] = {"limits": resources}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name_of(target), "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": dict(labels)}, "spec": {"containers": [server]}},
        },
    }


def _for_this_host(pod: dict[str, Any], container: dict[str, Any], target: Target) -> None:
    """podman shows labels of any length, and no annotations; a port is one of this host."""
    pod["metadata"]["labels"].update(labels_of(target))
    if shares_network(target.settings):
        pod["spec"]["hostNetwork"] = True
        container.pop("ports", None)
    else:
        container["ports"] = [{"containerPort": target.port, "hostPort": target.port, "hostIP": target.host}]


def _resources(target: Target) -> dict[str, int]:
    device, count = look(target.base, "hardware.device"), look(target.base, "hardware.count")
    name = _RESOURCES.get(str(device))
    return {name: count if isinstance(count, int) else 1} if name else {}


def _container(target: Target, said: Mapping[str, Any]) -> dict[str, Any]:
    entrypoint, *rest = words_of(target)
    ours = variables(target)
    kept = [one for one in said.get("env") or () if one.get("name") not in target.launch.environment]
    return {
        "image": pinned_image(target),
        "command": [_plain(entrypoint)],
        "args": [_plain(word) for word in rest],
        "env": [*kept, *ours],
    }


def _plain(text: str) -> str:
    """`$(` begins a reference to a variable; doubled, it is itself."""
    return text.replace("$(", "$$(")


def _mount(pod: dict[str, Any], container: dict[str, Any], target: Target) -> None:
    for number, mount in enumerate(mounts_of(target.base)):
        name, source = f"tierlock-{number}", host_source(mount, target.root)
        volume: dict[str, Any] = {"name": name}
        if source is None:
            volume["persistentVolumeClaim"] = {"claimName": str(mount["source"])}
        else:
            volume["hostPath"] = {"path": str(source)}
        pod.setdefault("volumes", []).append(volume)
        container.setdefault("volumeMounts", []).append(
            {
                "name": name,
                "mountPath": str(mount["target"]),
                "readOnly": bool(mount.get("read_only", False)),
            }
        )


def _refuse(spec: Mapping[str, Any], target: Target) -> None:
    where = f"{target.settings.get('file')}: {name_of(target)}.{spec.get('name')}"
    for key in ("command", "args", "envFrom"):
        if key in spec:
            why = "it hides what it sets" if key == "envFrom" else "the release says what is started"
            raise Usage(f"`{key}` may not be in the manifest: {why}", where=where, hint=f"remove `{key}`")
    for one in spec.get("env") or ():
        name = str(one.get("name"))
        known = variable(name)
        ours = name in target.launch.environment
        if ours or (known.effect == "output" and name not in DEVICES):
            raise Usage(
                f"`{name}` may not be set in the manifest: "
                + ("the release sets it" if ours else known.reason),
                where=where,
                hint="set it in `environment.variables` of the base config",
            )
