"""A captured host beside what the base config declares."""

from __future__ import annotations

from pathlib import Path

import pytest

from governance.fingerprint.image import Image
from governance.fingerprint.packages import Package, Packages
from governance.fingerprint.record import Capture
from governance.fingerprint.weights import WeightFile, Weights
from governance.release.contradictions import contradictions
from governance.tiers.config import Service
from governance.values import Unknown
from tests.support.governed import BASE, governed, place
from tests.support.released import NOON, TOOL, stamp

A, B = "a" * 64, "b" * 64
WEIGHTS = f'  weights: {{format: safetensors, files: {{part/model.safetensors: "sha256:{A}"}}}}\nengine:\n'


@pytest.fixture
def service(tmp_path: Path) -> Service:
    base = BASE.replace("engine:\n", WEIGHTS, 1) + f"image: {{ref: 'registry.example/vllm:v1@sha256:{A}'}}\n"
    found = (
        place(governed(tmp_path, {"configs/base/qwen.yaml": base})).state("worktree").service("summarizer")
    )
    assert found is not None
    assert found.base is not None
    return found


def seen(**layers: object) -> Capture:
    return Capture(stamp(NOON), TOOL, **layers)  # type: ignore[arg-type]


def file(name: str, sha256: str) -> Weights:
    return Weights((WeightFile(name, 3, f"blake3:{A}", sha256),))


def image(**more: object) -> Image:
    return Image("registry.example/vllm:v1", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "capture",
    [
        seen(),
        seen(weights=file("model.safetensors", f"sha256:{A}")),
        seen(weights=file("model.safetensors", "")),  # the declared algorithm was not computed
        seen(weights=Weights((), model="Qwen/Qwen2.5-7B-Instruct", revision="a09a")),
        seen(packages=Packages("environment", (Package("vllm", "0.7.3"),))),
        seen(packages=Packages("environment", (Package("torch", "2.5.1"),))),
        seen(image=image(manifest=f"sha256:{A}")),
        seen(image=image(manifest=f"sha256:{B}", index=f"sha256:{A}")),
        seen(image=image(reported=(f"registry.example/vllm@sha256:{A}",))),
        seen(image=Unknown("no registry"), weights=Unknown("gone"), packages=Unknown("no rights")),
    ],
)
def test_what_agrees_or_is_not_known_contradicts_nothing(service: Service, capture: Capture) -> None:
    assert contradictions(service, capture) == ()


@pytest.mark.parametrize(
    ("capture", "key", "told"),
    [
        (
            seen(weights=file("model.safetensors", f"sha256:{B}")),
            "model.weights.files",
            "sha256:bbbbbbbbbbbb",
        ),
        (
            seen(weights=file("other.safetensors", f"sha256:{A}")),
            "model.weights.files",
            "not among the captured",
        ),
        (seen(packages=Packages("environment", (Package("vllm", "0.8.2"),))), "engine.version", "0.8.2"),
        (seen(image=image(manifest=f"sha256:{B}")), "image.ref", "sha256:bbbbbbbbbbbb"),
        (seen(image=image(reported=(f"registry.example/vllm@sha256:{B}",))), "image.ref", "bbbbbbbbbbbb"),
    ],
)
def test_what_differs_is_a_finding_at_its_key(
    service: Service, capture: Capture, key: str, told: str
) -> None:
    (found,) = contradictions(service, capture)
    assert (found.code, found.key, found.path) == ("TL602", key, "configs/base/qwen.yaml")
    assert told in found.message
