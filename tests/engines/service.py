"""The governed repository of these tests: one service on vLLM 0.32.0, and what a start script changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from governance.release.diff import compare
from governance.release.sides import Place, parse_side
from governance.tiers.config import Service
from governance.values import Tree
from governance.verdict import Report
from tests.support.vllm_server import VllmServer

REPOSITORY = Path(__file__).parent / "repository"
NAME = "tern"
# What a start script adds to a launch: none of it touches another.
CHANGED_ARGUMENTS = (
    *("--kv-cache-dtype", "fp8_e5m2", "--no-enable-prefix-caching", "--stream-interval", "4"),
    *("--override-generation-config", '{"top_k": 13, "temperature": 0.9}'),
)
CHANGED_VARIABLES = {"VLLM_CPU_ATTN_SPLIT_KV": "0"}


class Declared:
    """The repository, or a copy of it."""

    def __init__(self, root: Path = REPOSITORY) -> None:
        self.place = Place(root)

    @property
    def service(self) -> Service:
        """The one service."""
        found = self.place.state("worktree").service(NAME)
        assert found is not None
        return found

    @property
    def base(self) -> Tree:
        """Its base config."""
        assert self.service.base is not None
        return self.service.base.tree

    def compared(self, server: VllmServer) -> Report:
        """The service beside a running server, as `tierlock diff tern URL` compares them."""
        return compare(parse_side(f"{NAME}@worktree", self.place), parse_side(server.url, self.place))


def changes(report: Report) -> dict[str, tuple[str, Any, Any]]:
    """Layer, declared and effective value of each change, by its field."""
    return {change.key: (change.layer, change.before, change.after) for change in report.changes}


def sources(report: Report) -> dict[str, str]:
    """Where each changed value was read, by its field."""
    return {change.key: change.after_from for change in report.changes}


def told(report: Report) -> str:
    """The notes as one text."""
    return "\n".join(report.notes)
