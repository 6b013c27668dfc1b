"""Which engine a launch starts, when only the spelling of its options can tell."""

from __future__ import annotations

import pytest

from governance.engines.sources.detect import from_options


@pytest.mark.parametrize(
    ("argv", "engine"),
    [
        (["--model=acme/tern-7b", "--dtype=half"], "vllm"),
        (["--model", "acme/tern-7b", "--max-model-len", "8192"], "vllm"),
        (["--model-path", "acme/tern-7b", "--dtype", "half"], "sglang"),
        (["--model-id", "acme/tern-7b", "--dtype", "float16"], "tgi"),
    ],
)
def test_the_word_for_the_model_beside_options_the_engine_knows_is_evidence(
    argv: list[str], engine: str
) -> None:
    assert from_options(argv) == engine


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["--model=acme/tern-7b"],
        ["--model=acme/tern-7b", "--upload-interval=5"],
        ["--dtype=half", "--port=8000"],
        ["exporter", "--model=acme/tern-7b", "--port=8000"],
    ],
)
def test_less_is_no_evidence(argv: list[str]) -> None:
    """A sidecar that also takes `--model` must not become a server."""
    assert from_options(argv) == ""
