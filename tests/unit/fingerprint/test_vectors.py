"""The published vectors are current, and a reader of the document alone comes to the same digests.

`Independent` is written from docs/reference/fingerprint.md with nothing of this package: json and hashlib.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
VECTORS: dict[str, Any] = json.loads((ROOT / "docs/reference/fingerprint-vectors.json").read_text("utf-8"))


def canonical(value: Any) -> str:
    """RFC 8785 for the numbers and keys that occur in the vectors."""
    if isinstance(value, float) and value == int(value):
        value = int(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{canonical(k)}:{canonical(value[k])}" for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def opened(value: Any) -> Any:
    if isinstance(value, float) and value == int(value):
        return {"tl:float": value}
    if isinstance(value, dict):
        return {("tl:" + k if k.startswith("tl:") else k): opened(v) for k, v in value.items()}
    return [opened(v) for v in value] if isinstance(value, list) else value


class Independent:
    """The part of the document that the vectors exercise."""

    out = ("description",)
    noise = ("VLLM_LOGGING_LEVEL",)
    secret = ("HF_TOKEN",)

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def meaning(self, values: dict[str, Any]) -> dict[str, Any]:
        result = {k: v for k, v in values.items() if k not in self.out}
        for key in ("system", "template", "few_shot"):
            if key in result:
                result[key] = self.content(result[key])
        if "stop_token_ids" in result:
            result["stop_token_ids"] = sorted(set(result["stop_token_ids"]))
        if "extra" in result.get("engine", {}):
            result["engine"] = {**result["engine"], "extra": opened(result["engine"]["extra"])}
        if "environment" in result:
            result["environment"] = self.environment(result["environment"])
        return result

    def content(self, value: Any) -> dict[str, Any]:
        if isinstance(value, str):
            return {"content": sha256(value)}
        rest = {k: v for k, v in value.items() if k != "file"}
        return {**rest, "content": sha256(self.files[value["file"]])}

    def environment(self, value: dict[str, Any]) -> dict[str, Any]:
        result = dict(value)
        if "packages" in result:
            result["packages"] = {"content": sha256(self.files[result["packages"]])}
        if "variables" in result:
            result["variables"] = {
                k: v for k, v in result["variables"].items() if k not in (*self.noise, *self.secret)
            }
        return result


@pytest.mark.parametrize("vector", VECTORS["configs"], ids=lambda v: v["what"][:50])
def test_a_config_has_the_published_digest(vector: dict[str, Any]) -> None:
    found = canonical(Independent(vector.get("files", {})).meaning(vector["values"]))
    assert found == vector["canonical"]
    assert sha256(found) == vector["digest"]


@pytest.mark.parametrize("vector", VECTORS["folds"])
def test_a_fold_is_the_published_one(vector: dict[str, Any]) -> None:
    layers = [[name, vector["layers"][name]] for name in sorted(vector["layers"])]
    assert sha256(canonical([VECTORS["scheme"], VECTORS["service_schema"], layers])) == vector["fold"]


@pytest.mark.parametrize("vector", VECTORS["records"])
def test_a_record_has_the_published_digest(vector: dict[str, Any]) -> None:
    kept = [
        line
        for line in vector["record"].splitlines()
        if line
        and not line.endswith(",,")
        and ".pyc," not in line
        and not re.match(r"\.\./.*/(bin|Scripts)/", line)
        and not re.match(
            r"[^/]*\.dist-info/(INSTALLER|REQUESTED|direct_url\.json|uv_cache\.json|uv_build\.json),", line
        )
    ]
    assert sha256("\n".join(sorted(kept))) == vector["digest"]


@pytest.mark.parametrize("vector", [*VECTORS["layers"], *VECTORS["package_lists"]])
def test_an_observed_layer_has_the_published_digest(vector: dict[str, Any]) -> None:
    assert canonical(vector["value"]) == vector["canonical"]
    assert sha256(vector["canonical"]) == vector["digest"]


def test_a_text_in_place_and_in_a_file_have_one_digest() -> None:
    digests = [v["digest"] for v in VECTORS["configs"] if v["values"].get("system")]
    assert len(digests) == 2
    assert len(set(digests)) == 1
