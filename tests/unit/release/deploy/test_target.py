"""A deployment is rendered from the base config; what it adds of its own shapes no answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from governance.errors import Usage
from governance.fingerprint.services import fingerprint_of
from governance.release.deploy.registry import DRIVERS, load
from governance.release.deploy.target import target_of, weights_of
from governance.tiers.config import TIERS
from governance.values import Json
from tests.support.deployed import deployed, files_of, service_of, target
from tests.support.governed import place
from tests.support.repos import make_repo

WEIGHTS = "models/SmolLM2-135M-Instruct.Q4_1.gguf"
DEPLOY: Mapping[str, Json] = {"driver": "process", "port": 8123, "weights": WEIGHTS}
IMAGE = "registry.example:5000/team/llama-server"
DIGEST = "sha256:" + "a" * 64


def test_the_launch_is_the_engine_s_own_with_address_and_weights_filled_in(tmp_path: Path) -> None:
    repo = deployed(tmp_path / "repo", DEPLOY)
    at = place(repo)
    service = service_of(at)
    found = target_of(service, at, release="v3")
    assert found.launch.argv[:7] == (
        "llama-server",
        "--model",
        str(repo.path / WEIGHTS),
        "--host",
        "127.0.0.1",
        "--port",
        "8123",
    )
    assert (found.release, found.url) == ("v3", "http://127.0.0.1:8123")
    assert found.fingerprint == fingerprint_of(service).only(TIERS).fold()


def test_the_program_of_the_host_stands_in_for_the_name_alone(tmp_path: Path) -> None:
    plain = target(deployed(tmp_path / "a", DEPLOY))
    named = target(deployed(tmp_path / "b", {**DEPLOY, "binary": "/opt/engine/llama-server"}))
    assert named.launch.argv[0] == "/opt/engine/llama-server"
    assert named.launch.argv[3:] == plain.launch.argv[3:]


def test_a_folder_of_weights_gives_the_file_of_the_manifest(tmp_path: Path) -> None:
    repo = deployed(tmp_path / "repo", {**DEPLOY, "weights": "models"})
    assert target(repo).launch.argv[2] == str(repo.path / WEIGHTS)


def test_host_and_port_come_from_the_endpoint_where_deploy_says_nothing(tmp_path: Path) -> None:
    files = files_of({"driver": "process", "weights": WEIGHTS}, url="http://[::1]:9000/v1")
    found = target(make_repo(tmp_path / "repo", files=files))
    assert (found.host, found.port, found.url) == ("::1", 9000, "http://[::1]:9000")


def test_a_name_in_the_endpoint_is_nothing_to_listen_on(tmp_path: Path) -> None:
    """It may be a proxy; guessing an address could open the server to everybody."""
    files = files_of({"driver": "process", "weights": WEIGHTS}, url="https://llm.example/v1")
    with pytest.raises(Usage, match="which host `summarizer` listens on") as caught:
        target(make_repo(tmp_path / "repo", files=files))
    assert caught.value.where == "services.summarizer.deploy.host"


def test_a_server_that_listens_everywhere_is_reached_on_loopback(tmp_path: Path) -> None:
    found = target(deployed(tmp_path / "repo", {**DEPLOY, "host": "0.0.0.0"}))
    assert found.url == "http://127.0.0.1:8123"
    assert "0.0.0.0" in found.launch.argv


@pytest.mark.parametrize(
    "name", ["VLLM_ATTENTION_BACKEND", "LLAMA_ARG_TEMP", "LD_PRELOAD", "OMP_NUM_THREADS"]
)
def test_a_variable_that_shapes_answers_is_refused_outside_of_the_base_config(
    tmp_path: Path, name: str
) -> None:
    repo = deployed(tmp_path / "repo", {**DEPLOY, "environment": {name: "1"}})
    with pytest.raises(Usage, match=f"`{name}` may not be set where the service is deployed") as caught:
        target(repo)
    assert "base config" in caught.value.hint


def test_a_variable_of_the_base_config_is_not_set_a_second_time(tmp_path: Path) -> None:
    base: Mapping[str, Json] = {"environment": {"variables": {"MY_CACHE": "/a"}}}
    repo = deployed(tmp_path / "repo", {**DEPLOY, "environment": {"MY_CACHE": "/b"}}, base=base)
    with pytest.raises(Usage, match="the base config sets it"):
        target(repo)


def test_a_secret_stays_a_reference_in_the_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "s3cret-value")
    repo = deployed(tmp_path / "repo", {**DEPLOY, "environment": {"HF_TOKEN": "env:MY_TOKEN"}})
    found = target(repo)
    assert found.launch.environment["HF_TOKEN"] == "env:MY_TOKEN"
    assert "s3cret-value" not in repr(found)


def test_a_tag_beside_a_digest_is_left_out_and_a_tag_alone_stays_to_be_refused(tmp_path: Path) -> None:
    container = {"driver": "container", "port": 8123, "weights": "/models/x.gguf"}
    pinned = target(deployed(tmp_path / "a", container, base={"image": {"ref": f"{IMAGE}:v1@{DIGEST}"}}))
    moving = target(deployed(tmp_path / "b", container, base={"image": {"ref": f"{IMAGE}:v1"}}))
    assert pinned.image == f"{IMAGE}@{DIGEST}"
    assert moving.image == f"{IMAGE}:v1"


@pytest.mark.parametrize(
    ("given", "told", "host"),
    [
        ("/srv/models/a.gguf", "/models/a.gguf", "/srv/models/a.gguf"),
        ("/models/a.gguf", "/models/a.gguf", "/srv/models/a.gguf"),
        ("/baked/a.gguf", "/baked/a.gguf", None),
    ],
    ids=["path-of-the-host", "path-in-the-mount", "path-in-the-image"],
)
def test_weights_of_a_container_are_seen_through_its_mounts(
    tmp_path: Path, given: str, told: str, host: str | None
) -> None:
    base: Mapping[str, Json] = {
        "image": {
            "ref": f"{IMAGE}@{DIGEST}",
            "mounts": [{"source": "/srv/models", "target": "/models", "read_only": True}],
        }
    }
    repo = deployed(tmp_path / "repo", {"driver": "container", "port": 8123, "weights": given}, base=base)
    found = weights_of(service_of(place(repo)), repo.path)
    assert found.told == told
    assert found.host == (None if host is None else Path(host))
    assert target(repo).launch.argv[2] == told


def test_a_container_binds_everything_unless_it_shares_the_network_of_the_host(tmp_path: Path) -> None:
    base: Mapping[str, Json] = {"image": {"ref": f"{IMAGE}@{DIGEST}"}}
    settings: Mapping[str, Json] = {"driver": "container", "port": 8123, "weights": "/m/a.gguf"}
    own = target(deployed(tmp_path / "a", settings, base=base))
    shared = target(deployed(tmp_path / "b", {**settings, "arguments": ["--network", "host"]}, base=base))
    assert own.launch.argv[4] == "0.0.0.0"
    assert shared.launch.argv[4] == "127.0.0.1"
    assert own.host == shared.host == "127.0.0.1"


def test_a_missing_file_of_weights_is_answered_with_the_key_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(Usage, match="cannot fetch") as caught:
        target(deployed(tmp_path / "repo", {"driver": "container", "port": 8123}))
    assert "deploy.weights" in caught.value.hint


def test_every_worktree_of_a_clone_shares_the_notes_about_a_service(tmp_path: Path) -> None:
    repo = deployed(tmp_path / "repo", DEPLOY)
    repo.git("worktree", "add", "-q", str(tmp_path / "other"), "-b", "other")
    other = type(repo)(tmp_path / "other")
    assert target(other).state.resolve() == target(repo).state.resolve()
    assert target(repo).state.resolve() == repo.path.resolve() / ".git" / "tierlock" / "summarizer"


def test_each_driver_of_the_schema_is_a_module_with_the_names_of_the_protocol() -> None:
    from governance.tiers.schemas.services import Deploy

    words = set(Deploy.model_fields["driver"].annotation.__args__) - {"none"}  # type: ignore[union-attr]
    assert set(DRIVERS) == words
    for name in DRIVERS:
        module = load(name)
        assert name == module.NAME
        for verb in ("check", "plan", "deploy", "running", "stop", "log"):
            assert getattr(module, verb).__doc__


def test_a_service_without_a_driver_is_told_how_to_have_one() -> None:
    with pytest.raises(Usage, match="no driver starts this service") as caught:
        load("none")
    assert "process" in caught.value.hint
