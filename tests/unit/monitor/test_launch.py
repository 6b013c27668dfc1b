"""What is started, and what in it no config declares."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from governance.errors import MissingTool, Usage
from governance.monitor import launch
from governance.monitor.mismatch import Seen
from governance.release.deploy.model import Target
from governance.release.deploy.target import target_of
from governance.values import ABSENT
from tests.support.deployed import deployed, service_of
from tests.support.governed import place
from tests.support.repos import Repo

PLAIN = {"PATH": os.environ["PATH"]}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A service whose engine is a script of the repository."""
    found = deployed(
        tmp_path / "repo",
        {"driver": "process", "port": 8080, "binary": "bin/engine", "weights": "m.gguf",
         "environment": {"API_TOKEN": "env:THE_TOKEN"}},
    )  # fmt: skip
    script = found.path / "bin" / "engine"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    return found


def target(repo: Repo) -> Target:
    at = place(repo)
    return target_of(service_of(at), at, release="v1")


def look(
    repo: Repo, extra: Sequence[str] = (), environ: Mapping[str, str] | None = None, *, variables: bool = True
) -> Seen:
    asked = target(repo)
    planned = launch.plan(asked, extra, {**PLAIN, "THE_TOKEN": "s3cret", **(environ or {})})
    return launch.look(service_of(place(repo)), asked, planned, variables=variables)


def named(seen: Seen) -> dict[str, tuple[object, object]]:
    return {one.change.key: (one.change.before, one.change.after) for one in seen.mismatches}


def test_what_is_planned_is_what_the_deployment_renders_with_its_secrets_looked_up(repo: Repo) -> None:
    planned = launch.plan(target(repo), ("--verbose",), {**PLAIN, "THE_TOKEN": "s3cret"})
    assert planned.program == repo.path / "bin" / "engine"
    assert planned.argv[0] == str(planned.program)
    assert planned.argv[-1] == "--verbose"
    assert planned.environment["API_TOKEN"] == "s3cret"
    assert planned.environment["PATH"] == PLAIN["PATH"]
    assert planned.declared["API_TOKEN"] == "env:THE_TOKEN"


def test_a_secret_that_is_not_set_is_refused_by_name(repo: Repo) -> None:
    with pytest.raises(Usage, match="THE_TOKEN"):
        launch.plan(target(repo), (), PLAIN)


def test_an_engine_that_is_not_installed_is_a_missing_tool(repo: Repo) -> None:
    (repo.path / "bin" / "engine").unlink()
    with pytest.raises(MissingTool, match="`bin/engine` is not on this host"):
        launch.plan(target(repo), (), {**PLAIN, "THE_TOKEN": "x"})


def test_the_declared_launch_moves_nothing(repo: Repo) -> None:
    seen = look(repo)
    assert seen.equal
    assert [(layer.name, layer.state) for layer in seen.layers] == [("launch", "same")]


@pytest.mark.parametrize(
    ("extra", "moved"),
    [
        (("--cache-type-k", "q4_0"), {"precision.kv_cache.key_dtype": (ABSENT, "q4_0")}),
        (("--threads", "4"), {"engine.options.threads": (1, 4)}),
        (("--chat-template", "chatml"), {"engine.extra.chat-template": (ABSENT, "chatml")}),
        (("--top-k", "5"), {"sampling.top_k": (ABSENT, 5)}),
        (("--model", "/other.gguf"), {"model.id": None}),
    ],
)
def test_an_argument_that_moves_a_value_is_a_mismatch(
    repo: Repo, extra: tuple[str, ...], moved: dict[str, tuple[object, object] | None]
) -> None:
    found = named(look(repo, extra))
    for key, sides in moved.items():
        assert key in found
        assert sides is None or found[key] == sides


def test_an_argument_that_shapes_no_answer_is_none(repo: Repo) -> None:
    for extra in (("--log-file", "server.log"), ("--metrics",), ("--api-key", "sk-1")):
        assert look(repo, extra).equal, extra


def test_a_default_that_every_request_sets_for_itself_is_a_note(repo: Repo) -> None:
    """The sampling config pins temperature: a server default beneath it reaches no answer."""
    seen = look(repo, ("--temp", "0.9"))
    assert seen.equal
    assert seen.notes == (
        "arguments after --: the default of `temperature` is 0.9; every request sets its own",
    )


def test_an_argument_that_nobody_knows_is_a_doubt_of_its_own_code(repo: Repo) -> None:
    (doubt,) = look(repo, ("--frobnicate", "3")).doubts
    assert doubt.code == "TL812"
    assert "`--frobnicate` is no option of llama-server" in doubt.reason


def test_a_variable_that_the_engine_reads_is_told_by_the_value_it_moves(repo: Repo) -> None:
    seen = look(repo, environ={"LLAMA_ARG_CACHE_REUSE": "256"})
    assert named(seen) == {"engine.options.cache_reuse": (ABSENT, 256)}
    assert seen.mismatches[0].change.after_from == "variable LLAMA_ARG_CACHE_REUSE of this shell"


def test_a_variable_that_the_launch_outranks_is_a_note(repo: Repo) -> None:
    seen = look(repo, environ={"LLAMA_ARG_THREADS": "8"})
    assert seen.equal
    assert "variable LLAMA_ARG_THREADS of this shell moves nothing" in seen.notes[0]


def test_a_variable_that_chooses_kernels_and_that_no_config_declares_is_a_mismatch(repo: Repo) -> None:
    seen = look(repo, environ={"GGML_CUDA_FORCE_MMQ": "1", "TZ": "UTC"})
    assert named(seen) == {"GGML_CUDA_FORCE_MMQ": (ABSENT, "1")}
    assert seen.mismatches[0].code == "TL802"


def test_where_the_release_recorded_the_variables_of_its_host_they_are_not_judged_here(repo: Repo) -> None:
    assert look(repo, environ={"GGML_CUDA_FORCE_MMQ": "1"}, variables=False).equal


def test_which_devices_a_server_takes_is_no_property_of_the_launch(repo: Repo) -> None:
    assert look(repo, environ={"CUDA_VISIBLE_DEVICES": "3", "HIP_VISIBLE_DEVICES": "0"}).equal
