"""A governed repository in memory around one changed config, and what `check` finds in it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from datetime import date
from functools import cache
from typing import Any

from governance.adapters.files import MemoryTree
from governance.engines.facts import Facts
from governance.tiers.check import check
from governance.tiers.writer import dump
from governance.verdict import Finding, Report

TODAY = date(2026, 11, 20)
COMMIT = "4f1c2d9e8b7a6051a3b1c2d3e4f50617a8b9c0d1"
DIGEST = "sha256:" + "5e" * 32
GONE: Any = object()

BASE: dict[str, Any] = {
    "kind": "base",
    "model": {
        "id": "acme/tern-7b-chat",
        "revision": COMMIT,
        "tokenizer": {"revision": COMMIT},
        "weights": {"format": "safetensors", "files": {"model.safetensors": DIGEST}},
    },
    "precision": {"dtype": "bfloat16", "kv_cache": {"dtype": "bfloat16"}},
    "engine": {
        "name": "vllm",
        "version": "0.8.4",
        "options": {
            "max_model_len": 8192,
            "prefix_caching": True,
            "attention": "FLASH_ATTN",
            "generation_config": "engine",
        },
    },
    "image": {"ref": "registry.example/infer/vllm@sha256:" + "ab" * 32},
    "hardware": {"device": "cuda", "gpu": "NVIDIA L40S", "count": 1},
}
SAMPLING: dict[str, Any] = {
    "kind": "sampling",
    "task": "factual",
    "temperature": 0.2,
    "top_p": 0.9,
    "top_k": 40,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "max_tokens": 256,
}
PROMPTS: dict[str, Any] = {"kind": "prompts", "system": "You answer in one sentence.\n"}
SERVICES: dict[str, Any] = {
    "version": 1,
    "services": {"demo": {"base": "demo", "sampling": "demo", "prompts": "demo"}},
}
_CLEAN = {"base": BASE, "sampling": SAMPLING, "prompts": PROMPTS}


@cache
def facts() -> Facts:
    """The engines' tables, loaded once for all tests."""
    return Facts()


def edited(tree: Mapping[str, Any], edits: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of `tree` with the keys at slash-separated paths set, or taken out where the value is `GONE`."""
    copy = deepcopy(dict(tree))
    for path, value in edits.items():
        *parents, last = path.split("/")
        node = copy
        for parent in parents:
            node = node.setdefault(parent, {})
        if value is GONE:
            node.pop(last, None)
        else:
            node[last] = deepcopy(value)
    return copy


def repository(
    *,
    base: Mapping[str, Any] | None = None,
    sampling: Mapping[str, Any] | None = None,
    prompts: Mapping[str, Any] | None = None,
    services: Mapping[str, Any] | None = None,
    files: Mapping[str, str | bytes] | None = None,
) -> MemoryTree:
    """A clean repository with one service `demo`, changed by the edits; `files` are below configs/."""
    edits = {"base": base, "sampling": sampling, "prompts": prompts}
    content = {
        f"configs/{tier}/demo.yaml": dump(edited(_CLEAN[tier], edits[tier] or {})).encode() for tier in _CLEAN
    }
    content["tierlock.yaml"] = dump(edited(SERVICES, services or {})).encode()
    for name, text in (files or {}).items():
        content[f"configs/{name}"] = text if isinstance(text, bytes) else text.encode()
    return MemoryTree(content)


def report(**edits: Any) -> Report:
    """What `check` says about `repository(**edits)`."""
    return check(repository(**edits), today=TODAY, engine_facts=facts())


def found(code: str, **edits: Any) -> tuple[Finding, ...]:
    """The findings `code` in `repository(**edits)`; fails when the repository cannot be judged by rules."""
    findings = report(**edits).findings
    refused = [each for each in findings if each.code < "TL200" and each.blocks]
    assert not refused, refused
    return tuple(each for each in findings if each.code == code)


def codes(**edits: Any) -> list[str]:
    """The codes of everything found, in order."""
    return [each.code for each in report(**edits).findings]
