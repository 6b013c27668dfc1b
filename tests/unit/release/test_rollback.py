"""A rollback as a whole: what it refuses, what it does, and what it says when something is not right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from governance.adapters.files import WorkTree
from governance.errors import Unreadable, Usage
from governance.fingerprint.services import fingerprint_of
from governance.release import journal as journals
from governance.release.deploy.target import state_folder
from governance.release.holds import read_holds
from governance.release.record import Record, latest, list_records
from governance.release.rollback import How, abort, rollback
from governance.release.verifying import verify
from governance.tiers.naming import TIERS
from governance.verdict import Check, Outcome, Report
from tests.support.completions_server import CompletionsServer, serving
from tests.support.governed import place
from tests.support.released import SERVICE
from tests.support.repos import Repo
from tests.support.rollbacks import (
    ADDED,
    BASE_FILE,
    NOW,
    SAMPLING,
    SYSTEM,
    FakeDriver,
    repository,
    right,
    terms,
    world,
    wrong,
)


class Scene(NamedTuple):
    """A service that runs its second release, and is to go back to its first."""

    repo: Repo
    first: Record
    second: Record
    driver: FakeDriver
    server: CompletionsServer

    def back(self, how: How | None = None, **more: Any) -> Report:
        said = {key: more.pop(key) for key in ("to", "accepted", "reason") if key in more}
        return rollback(place(self.repo), terms(**said), world(self.driver, **more), how)

    @property
    def folder(self) -> Path:
        return state_folder(place(self.repo), SERVICE)

    def fold(self) -> object:
        found = place(self.repo).state("HEAD").service(SERVICE)
        assert found is not None
        return fingerprint_of(found).only(TIERS).fold()

    def unchanged(self) -> Any:
        return (
            self.repo.git("rev-parse", "HEAD"),
            self.repo.git("status", "--porcelain", "-uall"),
            self.driver.now(),
        )


@pytest.fixture(scope="module")
def answering() -> Iterator[CompletionsServer]:
    with serving(right) as server:
        yield server


@pytest.fixture(scope="module")
def made(answering: CompletionsServer, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("made") / "repo"
    return path, *repository(path, answering.url)


@pytest.fixture
def scene(made: Any, answering: CompletionsServer, tmp_path: Path) -> Scene:
    import shutil

    path, _, first, second = made
    shutil.copytree(path, tmp_path / "repo", symlinks=True)
    driver = FakeDriver(tmp_path / "runtime")
    driver.start(second.fingerprint, "v2", 4096, at=NOW.timestamp() - 3600)
    return Scene(Repo(tmp_path / "repo"), first, second, driver, answering)


def outcomes(report: Report) -> dict[str, Outcome]:
    return {check.name: check.outcome for check in report.checks}


def detail(report: Report, name: str) -> str:
    return next(check.detail for check in report.checks if check.name == name)


def test_one_command_brings_files_server_and_records_back(scene: Scene) -> None:
    report = scene.back()
    assert report.outcome is Outcome.PASS, report
    assert scene.fold() == scene.first.fingerprint
    assert scene.driver.now()["fingerprint"] == scene.first.fingerprint
    assert scene.repo.git("status", "--porcelain", "-uall") == ""
    assert report.summary.startswith("rolled back: summarizer runs golden v1, observed 00:00:")
    made = latest(WorkTree(scene.repo.path), SERVICE)
    assert made is not None
    assert (made.id, made.restores, made.rejected) == ("v3", "v1", scene.second.fingerprint)
    assert {check.outcome for check in verify(made, place(scene.repo))} == {Outcome.PASS}
    held = read_holds(WorkTree(scene.repo.path), SERVICE).standing
    assert [(one.fingerprint, one.release, one.restored) for one in held] == [
        (scene.second.fingerprint, "v2", "v1")
    ]
    assert not (scene.folder / journals.FILE).exists()

