"""A governed repository whose one service is deployed by this host: real llama.cpp configs, any driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from governance.release.deploy.model import Driver, Target
from governance.release.deploy.target import target_of
from governance.release.sides import Place
from governance.tiers.config import Service
from governance.tiers.writer import dump
from governance.values import Json
from tests.support.governed import FILES, place
from tests.support.llama_server import BASE, SAMPLING
from tests.support.repos import Repo, make_repo

SERVICE = "summarizer"


def files_of(
    deploy: Mapping[str, Json],
    *,
    base: Mapping[str, Json] | None = None,
    url: str = "http://127.0.0.1:8080/v1",
) -> dict[str, str]:
    """The files of a repository: the `deploy` block of its service, `base` added to its base config."""
    bound: dict[str, Json] = {
        "base": "smollm2",
        "sampling": "factual",
        "prompts": "summarize",
        "endpoint": {"url": url},
        "deploy": dict(deploy),
    }
    return {
        "tierlock.yaml": dump({"version": 1, "services": {SERVICE: bound}}),
        "configs/base/smollm2.yaml": dump({**BASE, **(base or {})}),
        "configs/sampling/factual.yaml": dump(SAMPLING),
        **{path: text for path, text in FILES.items() if path.startswith("configs/prompts/")},
    }


def deployed(path: Path, deploy: Mapping[str, Json], *, base: Mapping[str, Json] | None = None) -> Repo:
    """That repository, committed."""
    return make_repo(path, files=files_of(deploy, base=base))


def service_of(at: Place) -> Service:
    """The service as it stands in the work tree."""
    found = at.state("worktree").service(SERVICE)
    assert found is not None
    return found


def target(repo: Repo, release: str = "v1") -> Target:
    """What the work tree of `repo` says shall run."""
    at = place(repo)
    return target_of(service_of(at), at, release=release)


@contextmanager
def stopped_after(driver: Driver, target: Target) -> Iterator[None]:
    """A `with` block after which nothing of the target runs, whatever happened in it."""
    try:
        yield
    finally:
        driver.stop(target)
