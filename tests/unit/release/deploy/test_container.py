"""The container driver runs one image by digest: real podman, a real registry, a tag that moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from governance.adapters.containers import Engine
from governance.adapters.demo_engine import DemoEngine
from governance.adapters.http import Client
from governance.adapters.processes import free_port
from governance.errors import MissingTool, Unreachable, Unreadable, Usage
from governance.release.deploy import container
from governance.release.deploy.model import Replica, Target
from governance.release.deploy.ready import wait_ready
from governance.values import Json, Unknown
from tests.support.containers import ContainerTools, engine_image, tiny_image
from tests.support.deployed import deployed, stopped_after, target
from tests.support.llama_server import BASE, one_at_a_time
from tests.unit.release.deploy.test_process import stranger

NAME = "team/engine"


def settings(tools: ContainerTools, **more: Json) -> dict[str, Json]:
    return {
        "driver": "container",
        "port": free_port(),
        "weights": "/models/a.gguf",
        "binary": "/bin/engine",
        "runtime": str(tools.podman),
        **more,
    }


def tiny(
    tools: ContainerTools, folder: Path, image: str, *, base: Mapping[str, Json] | None = None, **more: Json
) -> Target:
    """What a repository asks for that names the tiny image `a` or `b` by digest."""
    ref = tools.push(tiny_image(), image, NAME)
    said = {**(base or {})}
    said["image"] = {"ref": ref, **(said.get("image") or {})}  # type: ignore[dict-item]
    return target(deployed(folder, settings(tools, **more), base=said), image)


def at(port: int, one: Target) -> Target:
    """The same target on another's port: a later release of one service."""
    words = [str(port) if word == str(one.port) else word for word in one.launch.argv]
    return replace(one, port=port, launch=replace(one.launch, argv=tuple(words)))


def digest(one: Target) -> str:
    return one.image.rpartition("@")[2]


def only(one: Target) -> Replica:
    found = container.running(one)
    assert isinstance(found, tuple), found
    (replica,) = found
    return replica


def get(one: Target, path: str) -> str:
    with Client(one.url) as client:
        return str(client.get(path))


def test_what_runs_is_the_digest_although_the_tag_has_moved(
    containers: ContainerTools, tmp_path: Path
) -> None:
    """A rollback by tag would start today's image with the files of then."""
    one = tiny(containers, tmp_path / "one", "a")
    two = at(one.port, tiny(containers, tmp_path / "two", "b"))
    assert containers.registry.digest(NAME, "stable") == digest(two) != digest(one)
    with stopped_after(container, one):
        container.deploy(two)
        assert wait_ready(two, container) >= 0
        assert only(two).image_digest == digest(two)
        container.deploy(one)
        wait_ready(one, container)
        back = only(one)
        assert back.image_digest == digest(one)
        assert (back.name, back.fingerprint) == ("container tierlock-summarizer", one.fingerprint)
        assert get(one, "/started").split() == list(one.launch.argv[1:])
    assert container.running(one) == ()


def test_a_real_engine_is_rolled_back_to_its_digest(
    containers: ContainerTools, llama_engine: DemoEngine, tmp_path: Path
) -> None:
    layout = engine_image(llama_engine)
    weights = f"/models/{llama_engine.weights.name}"
    said = settings(containers, weights=weights, binary="/bin/llama-server")
    targets = []
    for image in "ab":
        ref = containers.push(layout, image, "team/llama-server")
        base: Mapping[str, Json] = {**BASE, "image": {"ref": ref}}
        targets.append(target(deployed(tmp_path / image, said, base=base), image))
    one, two = targets
    with one_at_a_time(), stopped_after(container, one):
        for each in (two, one):
            container.deploy(each)
            wait_ready(each, container)
            assert only(each).image_digest == digest(each)
            with Client(each.url) as client:
                props = client.get("/props")
            assert isinstance(props, Mapping)
            assert props["model_path"] == weights
    assert digest(one) != digest(two)


def test_a_container_that_cannot_be_started_leaves_the_former_one_running(
    containers: ContainerTools, tmp_path: Path
) -> None:
    one = tiny(containers, tmp_path / "one", "a")
    broken = at(one.port, tiny(containers, tmp_path / "two", "b", binary="/bin/no-such-engine"))
    with stopped_after(container, one):
        container.deploy(one)
        wait_ready(one, container)
        with pytest.raises(Unreachable, match="no-such-engine"):
            container.deploy(broken)
        wait_ready(one, container)
        assert only(one).image_digest == digest(one)
        assert containers.call("ps", "--all", "--format", "{{.Names}}") == "tierlock-summarizer"


def test_an_image_that_is_gone_from_the_registry_stops_nothing(
    containers: ContainerTools, tmp_path: Path
) -> None:
    one = tiny(containers, tmp_path / "one", "a")
    gone = replace(one, image=f"{containers.registry.host}/{NAME}@sha256:{'0' * 64}")
    with stopped_after(container, one):
        container.deploy(one)
        before = only(one)
        with pytest.raises(Unreachable, match="pull` failed"):
            container.deploy(gone)
        assert only(one) == before


def test_an_engine_that_ends_at_once_is_told_with_its_last_words(
    containers: ContainerTools, tmp_path: Path
) -> None:
    one = tiny(containers, tmp_path / "one", "a", environment={"FAIL": "1"})
    with stopped_after(container, one):
        container.deploy(one)
        with pytest.raises(Unreachable, match="no such weights"):
            wait_ready(one, container)


@pytest.mark.parametrize("killed_after", ["create", "stop", "rename-former", "rename-next"])
def test_a_deployment_that_was_killed_is_finished_by_the_next(
    containers: ContainerTools, tmp_path: Path, killed_after: str
) -> None:
    """Each state a kill can leave is made with podman itself, then the driver is asked again."""
    one = tiny(containers, tmp_path / "one", "a")
    two = at(one.port, tiny(containers, tmp_path / "two", "b"))
    name = "tierlock-summarizer"
    with stopped_after(container, one):
        container.deploy(one)
        label = f"dev.tierlock.service={one.service}"
        steps = {
            "create": ("create", "--name", f"{name}-next", "--label", label, two.image, "/bin/engine"),
            "stop": ("stop", "-t", "1", name),
            "rename-former": ("rename", name, f"{name}-former"),
            "rename-next": ("rename", f"{name}-next", name),
        }
        for step, words in steps.items():
            containers.call(*words)
            if step == killed_after:
                break
        container.deploy(two)
        wait_ready(two, container)
        assert only(two).image_digest == digest(two)
        assert containers.call("ps", "--all", "--format", "{{.Names}}") == name


def test_a_container_of_the_name_that_is_not_ours_is_left_alone(
    containers: ContainerTools, tmp_path: Path
) -> None:
    one = tiny(containers, tmp_path / "one", "a", container="web")
    containers.call("pull", "--quiet", one.image)
    containers.call("create", "--name", "web", one.image, "/bin/sleep", "1")
    try:
        with pytest.raises(Usage, match="`web` that tierlock did not start") as caught:
            container.deploy(one)
        assert f"{containers.podman} rm web" in caught.value.hint
        assert containers.call("ps", "--all", "--format", "{{.Names}}") == "web"
    finally:
        containers.call("rm", "web")


def test_a_port_that_somebody_else_listens_on_is_refused(containers: ContainerTools, tmp_path: Path) -> None:
    """With the network of the host, the stranger would answer in place of the container."""
    one = tiny(containers, tmp_path / "one", "a")
    with stranger(one.port) as other, pytest.raises(Usage, match=f"process {other.pid}"):
        container.check(one)


def test_variables_and_mounts_reach_the_server_and_secrets_no_command_line(
    containers: ContainerTools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN_OF_THIS_TEST", "s3cret-value")
    data = tmp_path / "da,ta"
    data.mkdir()
    (data / "health").write_text("mounted")
    base: Mapping[str, Json] = {
        "environment": {"variables": {"OMP_NUM_THREADS": "1"}},
        "image": {"mounts": [{"source": str(data), "target": "/mnt", "read_only": True}]},
    }
    one = tiny(
        containers, tmp_path / "one", "a", base=base, environment={"HF_TOKEN": "env:TOKEN_OF_THIS_TEST"}
    )
    with stopped_after(container, one):
        assert "s3cret-value" not in "\n".join(container.plan(one))
        container.deploy(one)
        wait_ready(one, container)
        seen = get(one, "/variables").splitlines()
        assert {"HF_TOKEN=s3cret-value", "OMP_NUM_THREADS=1"} <= set(seen)
        assert containers.call("exec", "tierlock-summarizer", "cat", "/mnt/health") == "mounted"
        refused = "exec", "tierlock-summarizer", "sh", "-c", "echo x > /mnt/x || echo read-only"
        assert containers.call(*refused) == "read-only"


def test_a_mounted_file_that_was_edited_is_refused(containers: ContainerTools, tmp_path: Path) -> None:
    plugin = tmp_path / "plugin.py"
    plugin.write_text("x = 1\n")
    base: Mapping[str, Json] = {
        "image": {"mounts": [{"source": str(plugin), "target": "/p.py", "digest": f"sha256:{'a' * 64}"}]}
    }
    with pytest.raises(Unreadable, match=r"plugin\.py` is not what the base config names"):
        container.check(tiny(containers, tmp_path / "one", "a", base=base))


def test_an_entrypoint_of_the_base_config_takes_the_place_of_the_program(
    containers: ContainerTools, tmp_path: Path
) -> None:
    base: Mapping[str, Json] = {"image": {"entrypoint": ["/bin/sh", "/bin/engine", "--wrapped"]}}
    one = tiny(containers, tmp_path / "one", "a", base=base)
    with stopped_after(container, one):
        container.deploy(one)
        wait_ready(one, container)
        assert get(one, "/started").split()[:2] == ["--wrapped", "--model"]


def test_the_plan_is_what_an_operator_could_paste(containers: ContainerTools, tmp_path: Path) -> None:
    one = tiny(containers, tmp_path / "one", "a")
    with stopped_after(container, one):
        (line,) = container.plan(one)[-1:]
        assert line.startswith(f"{containers.podman} run --detach --name tierlock-summarizer")
        assert f"{one.image} --model /models/a.gguf" in line
        container.deploy(one)
        stops = [line for line in container.plan(one) if " stop " in line]
        what = f"a {one.fingerprint[:12]}, image {digest(one)[:19]}"
        assert stops == [f"{containers.podman} stop tierlock-summarizer   # {what}"]


def pinned(folder: Path, image: str, **more: Json) -> Target:
    said = {"driver": "container", "port": free_port(), "weights": "/m/a.gguf", "runtime": "true", **more}
    return target(deployed(folder, said, base={"image": {"ref": image}}))


def test_a_tag_is_refused_with_how_to_pin_it(tmp_path: Path) -> None:
    with pytest.raises(Usage, match="is a tag: what it names today is not what was released") as caught:
        container.check(pinned(tmp_path / "repo", "registry.example/engine:v1"))
    assert "skopeo inspect" in caught.value.hint


@pytest.mark.parametrize(
    "word",
    [
        "--env=LLAMA_ARG_TEMP=1",
        "-eX=1",
        "-v/a:/b",
        "--mount=type=bind",
        "--entrypoint",
        "--name=x",
        "--label=a=b",
    ],
)
def test_arguments_do_not_say_what_the_base_config_has_to(tmp_path: Path, word: str) -> None:
    image = f"registry.example/engine@sha256:{'a' * 64}"
    with pytest.raises(Usage, match="may not be among the arguments"):
        container.check(pinned(tmp_path / "repo", image, arguments=[word]))


def test_an_engine_that_is_not_installed_is_a_missing_tool(tmp_path: Path) -> None:
    image = f"registry.example/engine@sha256:{'a' * 64}"
    with pytest.raises(MissingTool, match="no-such-podman"):
        container.check(pinned(tmp_path / "repo", image, runtime="no-such-podman"))


def test_an_engine_that_does_not_answer_makes_what_runs_unknown(tmp_path: Path) -> None:
    """A daemon that is down is no proof that nothing runs."""
    image = f"registry.example/engine@sha256:{'a' * 64}"
    said = "sh -c 'echo Cannot connect to the Docker daemon >&2; exit 1'"
    one = pinned(tmp_path / "repo", image, runtime=said)
    found = container.running(one)
    assert isinstance(found, Unknown)
    assert "Cannot connect to the Docker daemon" in found.reason
    with pytest.raises(Unreachable, match="Cannot connect"):
        Engine(("sh", "-c", "echo Cannot connect >&2; exit 1")).has(image)
