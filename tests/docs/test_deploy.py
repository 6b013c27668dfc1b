"""The page on drivers describes every driver, and its examples are settings that pass the schema."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from governance.release.deploy.registry import DRIVERS
from governance.release.deploy.target import target_of
from governance.tiers.foreign import documents
from governance.tiers.schemas.services import Deploy, Service
from tests.support.deployed import deployed, service_of
from tests.support.governed import place

PAGE = Path(__file__).resolve().parents[2] / "docs" / "deploy.md"
TEXT = PAGE.read_text()
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


def blocks() -> list[dict[str, Any]]:
    found = []
    for example in EXAMPLES:
        tree = documents(example)[0].tree
        assert isinstance(tree, dict), example
        if "services" in tree:
            service = tree["services"]["summarizer"]
            Service.model_validate(service)
            tree = service
        found.append(tree["deploy"])
    return found


def test_every_driver_has_a_row_and_a_chapter() -> None:
    for name in (*DRIVERS, "none"):
        assert f"| `{name}` |" in TEXT
    assert {f"## {name}" for name in DRIVERS} <= set(TEXT.splitlines())


@pytest.mark.parametrize("block", blocks(), ids=lambda block: str(block["driver"]))
def test_the_examples_are_settings_a_target_is_made_of(block: dict[str, Any], tmp_path: Path) -> None:
    Deploy.model_validate(block)
    image = {"image": {"ref": f"registry.example/engine@sha256:{'a' * 64}"}}
    at = place(deployed(tmp_path / "repo", block, base=image))
    found = target_of(service_of(at), at, release="v1")
    assert found.port == block["port"]


def test_every_key_of_the_block_is_on_the_page() -> None:
    missing = [key for key in Deploy.model_fields if not re.search(rf"`?{key}\b", TEXT)]
    assert missing == []


def test_an_example_with_a_key_that_is_none_would_be_seen() -> None:
    with pytest.raises(ValidationError):
        Deploy.model_validate({"driver": "process", "prot": 1})
