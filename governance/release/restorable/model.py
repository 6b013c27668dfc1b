"""What a drill looks at, by which rules, and through which neighbours.

- `Subject` is one release as it would be started now: its configs at its commit, today's deployment.
- `Policy` is `release:` of tierlock.yaml as it stands now; an absent key has the value documented there.
- `Neighbours` are the world: each is a plain callable, so that tests hand in their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from governance.adapters.audit import Audited, Pin
from governance.records import dataclass, field
from governance.release.standing import Spoken
from governance.values import Tree, Unknown

if TYPE_CHECKING:
    from governance.adapters.registry import Answer
    from governance.fingerprint.gpu import Gpus
    from governance.fingerprint.image import Reference
    from governance.release.advisories import Advisory
    from governance.release.record import Record
    from governance.tiers.config import Service


ON_HOST: Final = frozenset({"process", "systemd"})
"""Drivers that run a program of this host."""
HERE: Final = ON_HOST | {"container", "compose"}
"""Drivers whose server runs on this host; the others may start it anywhere."""


class Images(Protocol):
    """A registry, as far as a drill asks it."""

    def manifest(self, name: str, reference: str, accept: str) -> Answer: ...

    def has_blob(self, name: str, digest: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Policy:
    """What a return to golden must show. `max_age_days` 0 is no limit; `ignore` is id to reason."""

    block_vulnerable: bool = True
    block_unaudited: bool = False
    audit_service: str = "pypi"
    audit_url: str = ""
    ignore: Mapping[str, str] = field(default_factory=dict)
    advisories: str = ""
    max_age_days: int = 0


@dataclass(frozen=True, slots=True)
class Subject:
    """One release to be drilled. `advisories` is None when no file is named."""

    record: Record
    service: Service
    root: Path
    policy: Policy
    now: datetime
    spoken: Spoken | Unknown
    advisories: Sequence[Advisory] | Unknown | None = None

    @property
    def base(self) -> Tree:
        return self.service.base.tree if self.service.base is not None else {}

    @property
    def deploy(self) -> Tree:
        found = self.service.tree.get("deploy")
        return found if isinstance(found, Mapping) else {}

    @property
    def driver(self) -> str:
        return str(self.deploy.get("driver", "none"))


HashFiles = Callable[[Sequence[tuple[Path, str]]], "Sequence[str | Unknown]"]
"""Hex digests of files of this host, each by its algorithm, in their order."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The world of a drill. `platform` is that of images here (`linux/amd64`)."""

    images: Callable[[Reference], Images]
    audit: Callable[[Sequence[Pin], str, str], tuple[Audited, ...] | Unknown]
    is_file: Callable[[Path], bool]
    hash_files: HashFiles
    gpus: Callable[[], Gpus | Unknown]
    cpu_info: Callable[[], bytes]
    hub: Callable[[str, str], str | Unknown]
    platform: str


def policy_of(settings: Tree) -> Policy:
    """The policy in tierlock.yaml (`settings` is the whole file)."""
    found = settings.get("release")
    release: Tree = found if isinstance(found, Mapping) else {}
    listed = release.get("packages")
    packages: Tree = listed if isinstance(listed, Mapping) else {}
    ignore, age = packages.get("ignore"), release.get("golden_max_age_days")
    return Policy(
        block_vulnerable=packages.get("vulnerable", "block") == "block",
        block_unaudited=packages.get("unaudited", "warn") == "block",
        audit_service=str(packages.get("service", "pypi")),
        audit_url=str(packages.get("url", "")),
        ignore={str(k): str(v) for k, v in ignore.items()} if isinstance(ignore, Mapping) else {},
        advisories=str(release.get("advisories", "")),
        max_age_days=age if isinstance(age, int) else 0,
    )
