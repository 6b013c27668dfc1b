"""Configs, services and the repository they lie in: what rules, engines, fingerprints and diffs are given.

- A `Config` is a file that passed the schema, with the bytes of every file it names.
- A repository with faults still has everything that could be read; `findings` says what could not.
- Whoever asks for files hands in the source: work tree, index, revision, memory.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from governance.records import dataclass, field
from governance.tiers.naming import GOVERNED, SERVICES_FILE, TIERS, ConfigId

if TYPE_CHECKING:
    from governance.adapters.files import FileSource
    from governance.tiers.reader import Reading
    from governance.values import Tree
    from governance.verdict import Finding

__all__ = [
    "GOVERNED",
    "SERVICES_FILE",
    "TIERS",
    "Config",
    "ConfigId",
    "Repository",
    "Service",
    "load_config",
    "load_repository",
]


@dataclass(frozen=True, slots=True)
class Config:
    """One config. `files` holds what it names, by path below `configs/<tier>/`: `summarize/system.md`."""

    id: ConfigId
    path: str
    tree: Tree
    reading: Reading
    files: Mapping[str, bytes]

    def file(self, name: str) -> bytes:
        """The bytes of the file the config calls `name`. KeyError when it names no such file."""
        return self.files[f"{self.id.name}/{name}"]


@dataclass(frozen=True, slots=True)
class Service:
    """One service: `tree` is its entry in tierlock.yaml; a config is None when it could not be loaded."""

    name: str
    base: Config | None
    sampling: Config | None
    prompts: Config | None
    tree: Tree

    @property
    def complete(self) -> bool:
        """Whether all three configs are there."""
        return None not in (self.base, self.sampling, self.prompts)


@dataclass(frozen=True, slots=True)
class Repository:
    """What was loaded. `settings` is the whole of tierlock.yaml; empty when it is missing or refused.

    `findings` has what reading, schema and structure found, sorted; rules add their own elsewhere.
    """

    configs: Mapping[ConfigId, Config]
    services: Mapping[str, Service]
    services_file: Reading | None
    settings: Tree = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


def load_config(source: FileSource, config_id: ConfigId) -> tuple[Config | None, tuple[Finding, ...]]:
    """One config with the files it names, or None and why not."""
    from governance.tiers.loading import load_one

    return load_one(source, config_id)


def load_repository(source: FileSource, only: Collection[str] | None = None) -> Repository:
    """Everything governed in `source`.

    `only` limits this to the configs that these repository paths belong to, the services that bind them, and
    what else those services bind. Paths that are not governed are passed over.
    """
    from governance.tiers.loading import load

    return load(source, only)
