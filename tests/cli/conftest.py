"""A folder, the command in it, and a cache of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Tierlock


@pytest.fixture
def bare(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tierlock:
    """The command in an empty folder that no repository holds."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    folder = tmp_path / "here"
    folder.mkdir()
    return Tierlock(folder, capsys, monkeypatch)


@pytest.fixture
def tierlock(bare: Tierlock) -> Tierlock:
    """The command in the repository that `tierlock init` writes."""
    assert bare.run("init").code == 0
    return bare
