"""The law of exceptions: one that has run out excuses nothing, by whichever way the files are read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from governance.adapters.files import FileSource, WorkTree
from governance.adapters.git import IndexTree, RevisionTree
from governance.tiers.check import check
from governance.values import Tree
from governance.verdict import Outcome
from tests.support.repos import Repo, make_repo
from tests.support.rules import facts, repository

LAST = date(2026, 12, 24)
EXEMPTION: Tree = {
    "rule": "TL301",
    "config": "sampling/demo",
    "reason": "measured on the summary set",
    "expires": str(LAST),
}
PATH = "configs/sampling/demo.yaml"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, FileSource]]:
    """The same repository by every way: in memory, on disk, staged, committed."""
    tree = repository(services={"rules": {"exemptions": [EXEMPTION]}}, sampling={"temperature": 0.9})
    files = {entry.path: tree.read(entry.path) for entry in tree.entries("")}
    repo: Repo = make_repo(tmp_path_factory.mktemp("excepted"), files=files)
    git = repo.neighbour()
    yield {
        "memory": tree,
        "work tree": WorkTree(repo.path),
        "index": IndexTree(git),
        "commit": RevisionTree(git, "HEAD"),
    }
    git.close()


@settings(max_examples=40, deadline=None)
@given(days=st.integers(-400, 400), one_file=st.booleans())
def test_an_exception_counts_to_its_last_day_and_never_after_it(
    sources: dict[str, FileSource], days: int, one_file: bool
) -> None:
    only = [PATH] if one_file else None
    outcomes = {
        name: check(source, today=LAST + timedelta(days=days), only=only, engine_facts=facts()).outcome
        for name, source in sources.items()
    }
    expected = Outcome.BLOCK if days > 0 else Outcome.PASS
    assert outcomes == dict.fromkeys(sources, expected)
