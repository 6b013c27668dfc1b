"""A release to drill and a world to drill it in, each made of what a test says about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from governance.adapters.audit import Audited, Pin
from governance.adapters.files import MemoryTree
from governance.adapters.registry import Registry
from governance.engines.keys import look
from governance.errors import Unreachable
from governance.evals.evidence import Filed
from governance.fingerprint.gpu import Gpus
from governance.fingerprint.layers import LAYERS
from governance.fingerprint.record import Capture, dump
from governance.release.record import Record, tree_of
from governance.release.restorable.host import hash_files
from governance.release.restorable.model import Neighbours, Subject, policy_of
from governance.release.standing import Spoken
from governance.tiers.config import Service, load_repository
from governance.values import Unknown
from tests.support.governed import BASE, FILES, SERVICES

NOW = datetime(2026, 11, 30, 18, tzinfo=UTC)


def service(
    base: str = "", deploy: str = "{driver: none}", files: Mapping[str, str] | None = None
) -> Service:
    """The service of the small governed repository, with more in its base config and a deployment."""
    bound = SERVICES.replace("prompts: summarize}", f"prompts: summarize, deploy: {deploy}}}")
    tree = {**FILES, "tierlock.yaml": bound, "configs/base/qwen.yaml": BASE + base, **(files or {})}
    loaded = load_repository(MemoryTree({path: text.encode() for path, text in tree.items()}))
    found = loaded.services["summarizer"]
    assert found.complete, loaded.findings
    return found


def subject(
    found: Service | None = None, *, capture: Capture | None = None, root: Path = Path("/nowhere"),
    spoken: Sequence[Filed] | Unknown = (), policy: Mapping[str, Any] | None = None,
) -> Subject:  # fmt: skip
    """A release of `found` on record, with today's policy."""
    made = found or service()
    assert made.base is not None
    image, driver = look(made.base.tree, "image.ref"), look(made.tree, "deploy.driver")
    record = Record(
        service=made.name, id="v1", created_at="2026-11-30T12:00:00Z", commit="a" * 40, fingerprint="b" * 64,
        layers={name: Unknown("not captured") for name in LAYERS},
        bindings={tier: str(made.tree[tier]) for tier in ("base", "sampling", "prompts")},
        engine=("vllm", "0.7.3"), image=image if isinstance(image, str) else "", driver=str(driver),
        capture=None if capture is None else tree_of(dump(capture)),
    )  # fmt: skip
    heard = spoken if isinstance(spoken, Unknown) else Spoken(tuple(spoken))
    return Subject(record, made, root, policy_of({"release": policy or {}}), NOW, heard)


def world(**given: Any) -> Neighbours:
    """A host with nothing on it: a registry and a hub that are not there, no GPU, an audit that skips all."""
    nothing = Neighbours(
        images=lambda reference: Registry(reference.host, pause=lambda _: None),
        audit=_skips,
        is_file=Path.is_file,
        hash_files=lambda wanted: hash_files(wanted, None),
        gpus=lambda: Gpus("", "", (), "no GPU device"),
        cpu_info=lambda: b"model name : AMD EPYC 9B45\nflags : fpu avx2 avx512f\n",
        hub=_no_hub,
        platform="linux/amd64",
    )
    return replace(nothing, **given)


def _skips(pins: Sequence[Pin], service: str, url: str) -> tuple[Audited, ...]:
    return tuple(Audited(name, "", skipped="not found on PyPI") for name, _ in pins)


def _no_hub(model: str, revision: str) -> str:
    raise Unreachable(f"the hub does not answer for `{model}`")
