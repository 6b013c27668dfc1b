"""The kubernetes driver: a real kubectl against a small API server, and real pods of podman."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from governance.errors import Unreachable, Usage
from governance.release.deploy import kubernetes, manifest
from governance.release.deploy.model import Replica, Target
from governance.release.deploy.ready import wait_ready
from governance.values import Json, Unknown
from tests.support.containers import ContainerTools, tiny_image
from tests.support.deployed import deployed, stopped_after, target
from tests.support.kube_api import KubeApi
from tests.unit.release.deploy.test_container import NAME, digest, get, settings

IMAGE = f"registry.example/team/engine@sha256:{'a' * 64}"
OTHER = f"registry.example/team/engine@sha256:{'b' * 64}"
OWN = """\
apiVersion: v1
kind: Service
metadata: {name: llm}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  replicas: 2
  selector: {matchLabels: {app: llm}}
  template:
    metadata: {labels: {app: llm}}
    spec:
      nodeSelector: {disk: "yes"}
      containers:
        - name: proxy
          image: registry.example/proxy:1
        - name: engine
          image: registry.example/team/engine:stable
          resources: {limits: {nvidia.com/gpu: 1}}
          env: [{name: TZ, value: Europe/Berlin}]
"""


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KubeApi]:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    with KubeApi() as found:
        config = tmp_path / "kubeconfig"
        config.write_text(found.kubeconfig)
        monkeypatch.setenv("KUBECONFIG", str(config))
        monkeypatch.setenv("HOME", str(tmp_path))
        yield found


def service(folder: Path, image: str = IMAGE, *, own: str = "", **more: Json) -> Target:
    base: dict[str, Json] = {"image": {"ref": image}}
    for key in ("mounts", "hardware"):
        if key in more:
            base[key] = more.pop(key)
    said: dict[str, Json] = {"driver": "kubernetes", "port": 8000, "weights": "/models/a.gguf", **more}
    if own:
        said = {"file": "k8s.yaml", "workload": "llm", "container": "engine", **said}
    repo = deployed(folder, said, base=base)
    if own:
        (repo.path / "k8s.yaml").write_text(own)
    return target(repo)


def only(one: Target) -> Replica:
    found = kubernetes.running(one)
    assert isinstance(found, tuple), found
    (replica,) = found
    return replica


def server(one: Target) -> dict[str, Any]:
    workload = manifest.workload_of(manifest.objects(one), one)
    return manifest.container_of(manifest.pod_of(workload), one)


def test_a_workload_is_applied_followed_read_and_removed(api: KubeApi, tmp_path: Path) -> None:
    one = service(tmp_path / "repo")
    assert kubernetes.running(one) == ()
    kubernetes.deploy(one)
    seen = only(one)
    assert (seen.image_digest, seen.fingerprint) == (digest(one), one.fingerprint)
    assert seen.argv == one.launch.argv
    assert (seen.url, seen.restarts) == ("http://10.1.2.3:8000", 0)
    kubernetes.stop(one)
    assert kubernetes.running(one) == ()
    kubernetes.stop(one)


def test_what_somebody_set_in_the_cluster_is_taken_back(api: KubeApi, tmp_path: Path) -> None:
    """`kubectl set env` adds a field that no manifest names: applying again would leave it there."""
    one = service(tmp_path / "repo", environment={"CACHE": "/cache"})
    kubernetes.deploy(one)
    containers = api.deployments["summarizer"]["spec"]["template"]["spec"]["containers"]
    containers[0]["env"].append({"name": "LLAMA_ARG_TEMP", "value": "0.9"})
    containers[0]["image"] = OTHER
    kubernetes.deploy(one)
    (live,) = api.deployments["summarizer"]["spec"]["template"]["spec"]["containers"]
    assert live["env"] == [{"name": "CACHE", "value": "/cache"}]
    assert live["image"] == one.image


def test_a_rollout_that_does_not_come_is_an_error_that_names_it(api: KubeApi, tmp_path: Path) -> None:
    one = service(tmp_path / "repo", ready_timeout_s=1)
    api.stuck = True
    with pytest.raises(Unreachable, match=r"rollout` failed: .*timed out") as caught:
        kubernetes.deploy(one)
    assert caught.value.where == "deployment/summarizer"
    assert kubernetes.running(one) == ()


def test_a_mixture_of_pods_has_names(api: KubeApi, tmp_path: Path) -> None:
    """One replica of two was restarted: an eval over both would be of neither."""
    old = service(tmp_path / "old", OTHER)
    new = service(tmp_path / "new", IMAGE)
    kubernetes.deploy(old)
    api.hold_old = True
    kubernetes.deploy(new)
    found = kubernetes.running(new)
    assert isinstance(found, tuple)
    assert {one.image_digest for one in found} == {digest(old), digest(new)}
    assert {one.fingerprint for one in found} == {old.fingerprint, new.fingerprint}
    assert len({one.name for one in found}) == 2


def test_the_manifest_of_the_user_keeps_all_but_what_the_release_says(tmp_path: Path) -> None:
    one = service(tmp_path / "repo", own=OWN, environment={"HF_TOKEN": "env:MY_TOKEN"})
    first, workload = manifest.objects(one)
    assert first["kind"] == "Service"
    assert workload["spec"]["replicas"] == 2
    pod = manifest.pod_of(workload)
    assert pod["spec"]["nodeSelector"] == {"disk": "yes"}
    assert pod["metadata"]["labels"]["app"] == "llm"
    assert pod["metadata"]["annotations"]["dev.tierlock.fingerprint"] == one.fingerprint
    proxy, engine = pod["spec"]["containers"]
    assert proxy == {"name": "proxy", "image": "registry.example/proxy:1"}
    assert engine["image"] == IMAGE
    assert [*engine["command"], *engine["args"]] == list(one.launch.argv)
    assert engine["resources"] == {"limits": {"nvidia.com/gpu": 1}}
    secret = {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "llm-env", "key": "MY_TOKEN"}}}
    assert engine["env"] == [{"name": "TZ", "value": "Europe/Berlin"}, secret]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("command: [vllm, serve]", "`command` may not be in the manifest"),
        ("args: [--temp, '1']", "`args` may not be in the manifest"),
        ("envFrom: [{configMapRef: {name: x}}]", "hides what it sets"),
    ],
)
def test_what_would_change_answers_may_not_hide_in_the_manifest(tmp_path: Path, line: str, said: str) -> None:
    one = service(tmp_path / "repo", own=f"{OWN}          {line}\n")
    with pytest.raises(Usage, match=said) as caught:
        manifest.objects(one)
    assert caught.value.where == "k8s.yaml: llm.engine"


def test_nor_a_variable_that_does(tmp_path: Path) -> None:
    own = OWN.replace("name: TZ, value: Europe/Berlin", "name: VLLM_USE_V1, value: '0'")
    with pytest.raises(Usage, match="`VLLM_USE_V1` may not be set in the manifest"):
        manifest.objects(service(tmp_path / "repo", own=own))


def test_a_workload_or_container_that_cannot_be_told_is_refused_with_the_names(tmp_path: Path) -> None:
    with pytest.raises(Usage, match="proxy, engine") as caught:
        manifest.objects(service(tmp_path / "a", own=OWN, container="x"))
    assert "deploy.container" in caught.value.hint
    with pytest.raises(Usage, match=r"`llm` in `k8s\.yaml`"):
        manifest.objects(service(tmp_path / "b", own=OWN.replace("kind: Deployment", "kind: Job")))


def test_text_that_looks_like_a_reference_stays_text(tmp_path: Path) -> None:
    found = server(service(tmp_path / "repo", environment={"ODD": "$(HOME) $HOME"}))
    assert found["env"] == [{"name": "ODD", "value": "$$(HOME) $HOME"}]


def test_hardware_and_mounts_of_the_base_config_are_asked_of_the_cluster(tmp_path: Path) -> None:
    base: dict[str, Json] = {
        "image": {
            "ref": IMAGE,
            "mounts": [
                {"source": "/srv/models", "target": "/models", "read_only": True},
                {"source": "cache", "target": "/cache"},
            ],
        },
        "hardware": {"device": "cuda", "count": 2},
    }
    said: dict[str, Json] = {"driver": "kubernetes", "port": 8000, "weights": "/models/a.gguf"}
    one = target(deployed(tmp_path / "repo", said, base=base))
    pod = manifest.pod_of(manifest.objects(one)[0])["spec"]
    assert pod["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": 2}}
    assert pod["volumes"] == [
        {"name": "tierlock-0", "hostPath": {"path": "/srv/models"}},
        {"name": "tierlock-1", "persistentVolumeClaim": {"claimName": "cache"}},
    ]
    assert pod["containers"][0]["volumeMounts"][0]["readOnly"] is True


def test_a_cluster_that_does_not_answer_makes_what_runs_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    api = KubeApi()
    (tmp_path / "kubeconfig").write_text(api.kubeconfig)
    api._server.server_close()
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    one = service(tmp_path / "repo")
    assert isinstance(kubernetes.running(one), Unknown)
    with pytest.raises(Unreachable, match="kubectl get` failed"):
        kubernetes.check(one)


def test_context_and_namespace_are_those_of_the_deployment(tmp_path: Path) -> None:
    one = service(tmp_path / "repo", context="prod", namespace="llm")
    apply, status = kubernetes.plan(one)[-2:]
    assert apply == "kubectl --context prod --namespace llm apply --server-side --filename -"
    assert status == "kubectl --context prod --namespace llm rollout status deployment/summarizer"
    assert json.loads("\n".join(kubernetes.plan(one)[:-2])) == manifest.objects(one)


def test_podman_plays_the_manifest_on_this_host(containers: ContainerTools, tmp_path: Path) -> None:
    said = {**settings(containers), "driver": "kubernetes", "arguments": ["--network", "host"]}
    targets = []
    for image in "ab":
        base: Mapping[str, Json] = {"image": {"ref": containers.push(tiny_image(), image, NAME)}}
        targets.append(target(deployed(tmp_path / image, said, base=base), image))
    one, two = targets
    with stopped_after(kubernetes, one):
        for each in (two, one):
            kubernetes.deploy(each)
            wait_ready(each, kubernetes)
            seen = only(each)
            assert (seen.image_digest, seen.fingerprint) == (digest(each), each.fingerprint)
            assert get(each, "/started").split() == list(each.launch.argv[1:])
    assert kubernetes.running(one) == ()
    assert "summarizer" not in containers.call("pod", "ps", "--format", "{{.Name}}")
