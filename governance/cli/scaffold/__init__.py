"""The files `tierlock init` writes: a service that passes its own check, one base config per engine.

- Every file says in a comment what it is for. The schemas for editors are copied beside them, so that an
  editor needs no network.
- `files` is pure: it says what would be written; the command decides what is already there.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files as package_files
from typing import Final

from governance import __version__


@dataclass(frozen=True, slots=True)
class Ready:
    """What is ready for an engine: the port it listens on by default, and the files of its base config."""

    port: str
    base: tuple[str, ...]


_BASE: Final = ("smollm2.yaml", "smollm2/requirements.lock")
ENGINES: Final = {
    "llama.cpp": Ready("8080", (*_BASE, "smollm2/generation_config.json")),
    "vllm": Ready("8000", _BASE),
    "sglang": Ready("30000", _BASE),
}

_TREE: Final = (
    "tierlock.yaml",
    "configs/sampling/factual.yaml",
    "configs/prompts/summarize.yaml",
    "configs/prompts/summarize/system.md",
    "configs/prompts/summarize/user.md.j2",
    "configs/prompts/summarize/few_shot.jsonl",
    "evals/smoke.jsonl",
)
_DOTTED: Final = {
    ".pre-commit-config.yaml": "pre-commit-config.yaml",
    ".gitattributes": "gitattributes",
    ".gitignore": "gitignore",
}
_KINDS: Final = ("base", "sampling", "prompts", "services")


def files(engine: str) -> dict[str, bytes]:
    """The content of every file by its path, for a service that runs on `engine`, one of `ENGINES`."""
    here = package_files(__name__)
    schemas = package_files("governance.tiers.schemas") / "json"
    plan = {path: (here / "files" / path).read_bytes() for path in _TREE}
    plan |= {path: (here / "files" / name).read_bytes() for path, name in _DOTTED.items()}
    plan |= {
        f"configs/base/{path}": (here / "base" / engine / path).read_bytes() for path in ENGINES[engine].base
    }
    filled = {"@PORT@": ENGINES[engine].port, "@VERSION@": __version__}
    for path, data in plan.items():
        for mark, text in filled.items():
            data = data.replace(mark.encode(), text.encode())
        plan[path] = data
    for kind in _KINDS:
        plan[f".tierlock/schemas/{kind}.schema.json"] = (schemas / f"{kind}.schema.json").read_bytes()
    return plan
