"""The compose driver lays the release over the user's own project: real podman-compose on real podman."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from governance.errors import Unreachable, Usage
from governance.release.deploy import compose
from governance.release.deploy.model import Replica, Target
from governance.release.deploy.ready import wait_ready
from governance.tiers.foreign import documents
from governance.values import Json, Unknown
from tests.support.containers import COMPOSE, ContainerTools, tiny_image
from tests.support.deployed import deployed, stopped_after, target
from tests.unit.release.deploy.test_container import NAME, at, digest, get, settings

IMAGE = f"registry.example/team/engine@sha256:{'a' * 64}"
OWN = """\
services:
  llm:
    image: registry.example/team/engine:stable
    environment: {TZ: Europe/Berlin}
    network_mode: host
"""


@pytest.fixture
def tools(containers: ContainerTools) -> ContainerTools:
    if not COMPOSE.exists():
        pytest.skip("podman-compose is not installed: run scripts/container_tools.sh")
    return containers


def service(tools: ContainerTools, folder: Path, image: str, own: str = OWN, **more: Json) -> Target:
    base: Mapping[str, Json] = {"image": {"ref": tools.push(tiny_image(), image, NAME)}}
    said = {
        **settings(tools),
        "driver": "compose",
        "runtime": f"{COMPOSE} --podman-path {tools.podman}",
        "service": "llm",
        "file": "compose.yaml",
        **more,
    }
    repo = deployed(folder, said, base=base)
    (repo.path / "compose.yaml").write_text(own)
    return target(repo, image)


def only(one: Target) -> Replica:
    found = compose.running(one)
    assert isinstance(found, tuple), found
    (replica,) = found
    return replica


def test_the_release_is_what_runs_inside_the_project_of_the_user(
    tools: ContainerTools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Image, command and variables are the release's, the network and the time zone the user's."""
    monkeypatch.setenv("TOKEN_OF_THIS_TEST", "s3cret-value")
    one = service(
        tools, tmp_path / "repo", "a", environment={"HF_TOKEN": "env:TOKEN_OF_THIS_TEST", "ODD": "100$HOME"}
    )
    with stopped_after(compose, one):
        compose.deploy(one)
        wait_ready(one, compose)
        seen = only(one)
        assert (seen.image_digest, seen.fingerprint) == (digest(one), one.fingerprint)
        assert get(one, "/started").split() == list(one.launch.argv[1:])
        variables = set(get(one, "/variables").splitlines())
        assert {"TZ=Europe/Berlin", "HF_TOKEN=s3cret-value", "ODD=100$HOME"} <= variables
        written = (one.state / "compose" / compose.RENDERED).read_text()
        assert "s3cret-value" not in written
    assert compose.running(one) == ()


def test_another_release_takes_the_place_of_the_one_before(tools: ContainerTools, tmp_path: Path) -> None:
    one = service(tools, tmp_path / "repo", "a")
    two = at(one.port, service(tools, tmp_path / "repo2", "b"))
    with stopped_after(compose, one):
        for each in (two, one):
            compose.deploy(each)
            wait_ready(each, compose)
            assert only(each).image_digest == digest(each)


def test_a_variable_that_shapes_answers_may_not_hide_in_the_project(tmp_path: Path) -> None:
    own = OWN.replace("{TZ: Europe/Berlin}", "[TZ=Europe/Berlin, LLAMA_ARG_TEMP=0.9]")
    with pytest.raises(Usage, match="`LLAMA_ARG_TEMP` may not be set in the compose file"):
        compose.check(without_engine(tmp_path, own))


def test_nor_in_a_file_of_variables(tmp_path: Path) -> None:
    own = OWN.replace("environment: {TZ: Europe/Berlin}", "env_file: [llm.env]")
    one = without_engine(tmp_path, own)
    (one.root / "llm.env").write_text("# VLLM_USE_V1=1\nexport LLAMA_ARG_TEMP=0.9\n")
    with pytest.raises(Usage, match=r"`LLAMA_ARG_TEMP` may not be set in `llm\.env`"):
        compose.check(one)


@pytest.mark.parametrize("key", ["command", "entrypoint"])
def test_what_is_started_may_not_be_in_the_project_as_well(tmp_path: Path, key: str) -> None:
    """podman-compose 1.0 appends the words of the second file to those of the first."""
    own = OWN + f'    {key}: ["--temp", "0.9"]\n'
    with pytest.raises(Usage, match=f"`{key}` may not be in the compose file"):
        compose.check(without_engine(tmp_path, own))


def test_a_compose_that_says_yes_and_does_nothing_is_no_deployment(
    tools: ContainerTools, tmp_path: Path
) -> None:
    """podman-compose 1.0 ends with status 0 when podman has refused to run the container."""
    yes = tmp_path / "podman-compose"
    yes.write_text("#!/bin/sh\nexit 0\n")
    yes.chmod(0o755)
    one = service(tools, tmp_path / "repo", "a", runtime=f"{yes} --podman-path={tools.podman}")
    with pytest.raises(Unreachable, match="compose has not created `llm`"):
        compose.deploy(one)


def test_a_service_that_is_not_in_the_file_is_told_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(Usage, match="no service `llm`") as caught:
        compose.check(without_engine(tmp_path, "services: {web: {image: nginx}}\n"))
    assert caught.value.hint == "there are: web"


def test_without_a_file_of_the_user_the_rendered_one_is_the_whole_project(tmp_path: Path) -> None:
    one = without_engine(tmp_path, None)
    (found,) = documents(compose.render(one))
    tree = found.tree
    assert isinstance(tree, dict)
    rendered = tree["services"]["summarizer"]
    assert rendered["image"] == IMAGE
    assert rendered["ports"] == [f"127.0.0.1:{one.port}:{one.port}"]
    assert [*rendered["entrypoint"], *rendered["command"]] == list(one.launch.argv)
    assert "--project-name tierlock-summarizer" in compose.plan(one)[-1]


def test_an_engine_that_does_not_answer_makes_what_runs_unknown(tmp_path: Path) -> None:
    one = without_engine(tmp_path, OWN)
    assert isinstance(compose.running(one), Unknown)
    with pytest.raises(Unreachable, match="no daemon"):
        compose.check(one)


def without_engine(folder: Path, own: str | None) -> Target:
    """A service whose compose always fails."""
    broken = folder / "docker"
    broken.write_text("#!/bin/sh\necho no daemon >&2\nexit 1\n")
    broken.chmod(0o755)
    said: dict[str, Json] = {
        "driver": "compose",
        "port": 8123,
        "weights": "/models/a.gguf",
        "runtime": f"{broken} compose",
    }
    if own is not None:
        said |= {"file": "compose.yaml", "service": "llm"}
    repo = deployed(folder / "repo", said, base={"image": {"ref": IMAGE}})
    if own is not None:
        (repo.path / "compose.yaml").write_text(own)
    return target(repo)
