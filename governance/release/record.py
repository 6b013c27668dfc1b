"""A release record, `tierlock.release/1`: what one release was made of, kept for ever in the repository.

- A record carries the SHA-256 of its own text without that line (`digest`), and its bytes have one spelling:
  one altered byte is refused, and so is a record that lies in the place of another.
- A layer is 64 hex or unknown with its reason. The eight layers are all there: what nobody looked at is
  unknown, never left out.
- `fingerprint` is the fold of base, sampling and prompts: what evidence, holds and people go by.
- A newer format is `NewerFormat`. A record of an older scheme stays readable.
- Pure: bytes in, values out. Whether what it says is true is judged in `verifying.py`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from governance.adapters.files import FileSource, Kind
from governance.errors import NewerFormat, Unreadable, Usage
from governance.fingerprint.layers import Fingerprint
from governance.review import strict
from governance.tiers.canonical import SCHEME
from governance.values import Json, Tree, Unknown
from governance.verdict import Outcome

if TYPE_CHECKING:
    from governance.fingerprint.record import Capture

ROOT: Final = ".tierlock/"
FOLDER: Final = ".tierlock/releases/"
FORMAT: Final = "tierlock.release"
VERSION: Final = 1
MAX_BYTES: Final = 32 * 1024 * 1024
"""A capture with the packages of a large host takes 1 MiB."""

_ID: Final = re.compile(r"v([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class ApprovalRef:
    """One approval that a change of this release landed with. `source` is `signature` or a forge, `path` its
    file or address; `late` when it came after the change had landed.
    """

    subject: str
    before: str | None
    after: str | None
    person: str
    source: str = "signature"
    path: str = ""
    emergency: bool = False
    late: bool = False


@dataclass(frozen=True, slots=True)
class EvidenceRef:
    """One piece of eval evidence by its path and the SHA-256 of its bytes, with what it says in short."""

    path: str
    digest: str
    suite: str
    suite_digest: str
    kind: str
    outcome: Outcome
    items: int
    answered: int
    scored: int
    passed: int


@dataclass(frozen=True, slots=True)
class SnapshotRef:
    """The results of one suite as they were when the release was made: what later runs are compared with."""

    suite: str
    path: str
    digest: str


@dataclass(frozen=True, slots=True)
class Override:
    """One check that was set aside: which, why, and by whom."""

    check: str
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class Record:
    """One release of one service.

    `commit` is the full id of the commit it was cut from, `parent` the release before it (empty: the first).
    `engine` is name and version, `image` the reference of the base config, `driver` what deploys it; empty
    where the configs say nothing. `capture` is the whole capture record it embeds. `restores` is the release
    that a rollback went back to, `rejected` the config fold that it took away.
    """

    service: str
    id: str
    created_at: str
    commit: str
    fingerprint: str
    layers: Mapping[str, str | Unknown]
    bindings: Mapping[str, str]
    engine: tuple[str, str] = ("", "")
    image: str = ""
    driver: str = ""
    parent: str = ""
    scheme: str = SCHEME
    capture: Tree | None = None
    approvals: tuple[ApprovalRef, ...] = ()
    evidence: tuple[EvidenceRef, ...] = ()
    snapshots: tuple[SnapshotRef, ...] = ()
    restores: str = ""
    rejected: str = ""
    reason: str = ""
    actor: str = ""
    overrides: tuple[Override, ...] = ()
    tool: str = field(default="")

    @property
    def label(self) -> str:
        """`summarizer@v41`: how commands and people call it."""
        return f"{self.service}@{self.id}"

    @property
    def path(self) -> str:
        """Where it lies in the repository."""
        return path_of(self.service, self.id)

    @property
    def all_layers(self) -> Fingerprint:
        """Its layers as a fingerprint, to be compared."""
        return Fingerprint(self.layers, self.scheme)

    def captured(self) -> Capture | None:
        """The embedded capture, its digests recomputed; None without one. Raises `Unreadable`."""
        if self.capture is None:
            return None
        from governance.fingerprint.record import load as load_capture

        return load_capture(text_of(self.capture), f"{self.path}: capture")

    def snapshot(self, suite: str) -> SnapshotRef | None:
        """The snapshot of that suite; None when the release keeps none."""
        return next((one for one in self.snapshots if one.suite == suite), None)


def path_of(service: str, release: str) -> str:
    """Where the record of a release lies: `.tierlock/releases/summarizer/v41.json`."""
    return f"{FOLDER}{service}/{release}.json"


def signature_path(path: str) -> str:
    """Where the detached signature of a record lies."""
    return f"{path}.sig"


def number_of(release: str) -> int | None:
    """41 for `v41`; None when it is no id of a release."""
    found = _ID.fullmatch(release)
    return int(found[1]) if found else None


def digest_of(data: bytes) -> str:
    """The SHA-256 of `data`, 64 hex: how records name files."""
    return hashlib.sha256(data).hexdigest()


def text_of(tree: Json) -> bytes:
    """A JSON record as bytes: sorted keys, two blanks, one newline at the end."""
    return (json.dumps(tree, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def tree_of(data: bytes) -> Tree:
    """What `text_of` wrote, read again."""
    return strict.object_of(strict.json_of(data), "the record")


def dump(record: Record) -> bytes:
    """The record as the bytes of its file."""
    tree = _tree(record)
    return text_of({**tree, "digest": digest_of(text_of(tree))})


def load(data: bytes, path: str) -> Record:
    """The record in a file. Raises `NewerFormat`, or `Unreadable` for anything but a whole, unaltered record;
    both name `path`.
    """
    try:
        return _load(data, path)
    except NewerFormat as err:
        raise NewerFormat(err.message, where=path, hint=err.hint) from err
    except (ValueError, KeyError, TypeError) as err:
        why = f"`{err.args[0]}` is missing" if isinstance(err, KeyError) else str(err)
        raise Unreadable(
            f"`{path}` is not a whole, unaltered release record: {why}",
            where=path,
            hint=f"git restore --source=HEAD -- {path}",
        ) from err


def is_record(data: bytes) -> bool:
    """Whether these bytes look like a release record of any format version."""
    return f'"{FORMAT}/'.encode() in data[-4096:]


def list_records(source: FileSource, service: str) -> tuple[Record, ...]:
    """The releases of `service` in `source`, oldest first. Raises as `load` for one that cannot be read."""
    return tuple(load_at(source, service, name) for name in ids(source, service))


def ids(source: FileSource, service: str) -> tuple[str, ...]:
    """The ids of the releases of `service`, oldest first, without reading them."""
    folder = f"{FOLDER}{service}/"
    names = [entry.path for entry in source.entries(folder) if entry.kind is not Kind.OTHER]
    found = [name.removeprefix(folder).removesuffix(".json") for name in names if name.endswith(".json")]
    return tuple(sorted((one for one in found if number_of(one)), key=lambda one: number_of(one) or 0))


def services_in(source: FileSource) -> tuple[str, ...]:
    """The services that have releases in `source`, by name."""
    names = {entry.path.removeprefix(FOLDER).partition("/")[0] for entry in source.entries(FOLDER)}
    return tuple(sorted(names))


def load_at(source: FileSource, service: str, release: str) -> Record:
    """The record of one release. Raises `Usage` when there is none, and as `load`."""
    path = path_of(service, release)
    known = ids(source, service)
    if release not in known:
        raise _no_release(service, release, known)
    return load(source.read(path), path)


def latest(source: FileSource, service: str) -> Record | None:
    """The newest release of `service`; None before the first."""
    known = ids(source, service)
    return load_at(source, service, known[-1]) if known else None


def next_id(source: FileSource, service: str) -> str:
    """The id of the release that would come next."""
    known = ids(source, service)
    return f"v{(number_of(known[-1]) or 0) + 1}" if known else "v1"


def _no_release(service: str, release: str, known: tuple[str, ...]) -> Usage:
    if not known:
        return Usage(f"service `{service}` has no releases", hint=f"tierlock release cut {service}")
    near = get_close_matches(release, known, n=1)
    hint = f"did you mean `{near[0]}`? " if near else ""
    hint += f"there are {known[0]} to {known[-1]}: tierlock release list {service}"
    return Usage(f"service `{service}` has no release `{release}`", hint=hint)


def _tree(record: Record) -> dict[str, Json]:
    return {
        "schema": f"{FORMAT}/{VERSION}",
        "service": record.service,
        "id": record.id,
        "created_at": record.created_at,
        "commit": record.commit,
        "parent": record.parent or None,
        "scheme": record.scheme,
        "fingerprint": record.fingerprint,
        "layers": {name: _layer(value) for name, value in record.layers.items()},
        "bindings": dict(record.bindings),
        "engine": {"name": record.engine[0], "version": record.engine[1]},
        "image": record.image or None,
        "driver": record.driver or None,
        "capture": record.capture,
        "approvals": [_plain(one) for one in record.approvals],
        "evidence": [_plain(one) for one in record.evidence],
        "snapshots": [_plain(one) for one in record.snapshots],
        "restores": record.restores or None,
        "rejected": record.rejected or None,
        "reason": record.reason,
        "actor": record.actor,
        "overrides": [_plain(one) for one in record.overrides],
        "tool": record.tool,
    }


def _layer(value: str | Unknown) -> Json:
    return {"unknown": value.reason} if isinstance(value, Unknown) else value


def _plain(one: ApprovalRef | EvidenceRef | SnapshotRef | Override) -> dict[str, Json]:
    values = {name: getattr(one, name) for name in one.__slots__}
    return {name: value.value if isinstance(value, Outcome) else value for name, value in values.items()}


def _load(data: bytes, path: str) -> Record:
    if len(data) > MAX_BYTES:
        raise ValueError(f"it has {len(data)} bytes, at most {MAX_BYTES} are read")
    tree = strict.object_of(strict.json_of(data), "the record")
    if tree["schema"] != f"{FORMAT}/{VERSION}":
        _refuse_schema(tree["schema"])
    said = {name: value for name, value in tree.items() if name != "digest"}
    if tree["digest"] != digest_of(text_of(said)):
        raise ValueError("its `digest` is not the one of what it says: it was edited")
    from governance.release.record_reading import read

    record = read(tree)
    if dump(record) != data:
        raise ValueError("its bytes are not the ones a record is written with: it was edited")
    if record.path != path and path.startswith(FOLDER):
        raise ValueError(f"it is the record of {record.label}, which belongs in {record.path}")
    return record


def _refuse_schema(schema: Json) -> None:
    if isinstance(schema, str) and re.fullmatch(rf"{re.escape(FORMAT)}/[1-9][0-9]{{0,5}}", schema):
        raise NewerFormat(
            f"the record has the format {schema}, this tierlock reads up to {FORMAT}/{VERSION}",
            hint="upgrade tierlock",
        )
    raise ValueError(f"`schema` is not {FORMAT}/{VERSION}")
