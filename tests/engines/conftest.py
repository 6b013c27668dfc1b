"""Fixtures of the tests on real engines: what is declared, and a server that runs as it says."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engines.service import REPOSITORY, Declared
from tests.support.vllm_server import MODEL, VllmServer, started


@pytest.fixture
def say(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Writes a figure where one sees it although the test passes."""

    def write(line: str) -> None:
        with capsys.disabled():
            reporter = request.config.pluginmanager.get_plugin("terminalreporter")
            if reporter is not None:
                reporter.write_line(f"\n{line}")

    return write


@pytest.fixture(scope="session")
def declared() -> Declared:
    return Declared()


@pytest.fixture(scope="module")
def as_declared(declared: Declared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    """The server the repository asks for, in development mode."""
    with started(declared.base, tmp_path_factory.mktemp("vllm")) as server:
        yield server


@pytest.fixture
def with_model(tmp_path: Path) -> Callable[[str], Declared]:
    """The repository for a copy of the model's folder with another generation_config.json."""

    def copied(generation_config: str) -> Declared:
        model = tmp_path / "model"
        model.mkdir()
        for file in MODEL.iterdir():
            (model / file.name).symlink_to(file)
        (model / "generation_config.json").unlink()
        (model / "generation_config.json").write_text(generation_config)
        root = tmp_path / "repository"
        shutil.copytree(REPOSITORY, root)
        config = root / "configs" / "base" / "smollm2-vllm.yaml"
        config.write_text(config.read_text().replace("./.cache/smollm2-safetensors", str(model)))
        return Declared(root)

    return copied
