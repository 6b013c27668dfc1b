"""A release record from its JSON tree: every value is what it must be, or a `ValueError` says why not.

- Paths lead nowhere but below `.tierlock/`; names are safe in a path.
- Whether its bytes are the ones a record is written with is judged by `record.load`.
- Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from governance.fingerprint.layers import LAYERS
from governance.release.record import (
    ROOT,
    ApprovalRef,
    EvidenceRef,
    Override,
    Record,
    SnapshotRef,
    number_of,
)
from governance.review import strict
from governance.tiers.naming import TIERS
from governance.values import Json, Tree, Unknown
from governance.verdict import Outcome


def read(tree: Tree) -> Record:
    """The record that `tree` says. Raises `ValueError`, `KeyError` or `TypeError` for anything else."""
    engine = strict.object_of(tree["engine"], "`engine`")
    capture = tree["capture"]
    record = Record(
        service=strict.name_of(tree["service"], "service"),
        id=strict.text_of(tree["id"], "id"),
        created_at=_time(tree["created_at"]),
        commit=strict.text_of(tree["commit"], "commit"),
        fingerprint=_hex(tree["fingerprint"], "fingerprint"),
        layers=_layers(tree["layers"]),
        bindings={tier: strict.name_of(strict.object_of(tree["bindings"], "`bindings`")[tier], tier)
                  for tier in TIERS},
        engine=(strict.text_of(engine["name"], "engine.name"),
                strict.text_of(engine["version"], "engine.version")),
        image=_optional(tree["image"], "image"),
        driver=_optional(tree["driver"], "driver"),
        parent=_optional(tree["parent"], "parent"),
        scheme=strict.text_of(tree["scheme"], "scheme"),
        capture=None if capture is None else strict.object_of(capture, "`capture`"),
        approvals=tuple(_approval(one) for one in strict.list_of(tree["approvals"], "approvals")),
        evidence=tuple(_evidence(one) for one in strict.list_of(tree["evidence"], "evidence")),
        snapshots=tuple(_snapshot(one) for one in strict.list_of(tree["snapshots"], "snapshots")),
        restores=_optional(tree["restores"], "restores"),
        rejected="" if tree["rejected"] is None else _hex(tree["rejected"], "rejected"),
        reason=strict.text_of(tree["reason"], "reason"),
        actor=strict.text_of(tree["actor"], "actor"),
        overrides=tuple(_override(one) for one in strict.list_of(tree["overrides"], "overrides")),
        tool=strict.text_of(tree["tool"], "tool"),
    )  # fmt: skip
    if number_of(record.id) is None:
        raise ValueError("`id` is not one of a release, such as v41")
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", record.commit):
        raise ValueError("`commit` is not the full id of a commit")
    return record


def _layers(value: Json) -> dict[str, str | Unknown]:
    tree = strict.object_of(value, "`layers`")
    strict.exactly(tree, set(LAYERS), "`layers`")
    found: dict[str, str | Unknown] = {}
    for name in LAYERS:
        one = tree[name]
        if isinstance(one, Mapping):
            strict.exactly(one, {"unknown"}, f"layer `{name}`")
            found[name] = Unknown(strict.text_of(one["unknown"], f"layers.{name}.unknown"))
        else:
            found[name] = _hex(one, f"layers.{name}")
    return found


def _approval(value: Json) -> ApprovalRef:
    tree = strict.object_of(value, "an approval")
    return ApprovalRef(
        subject=strict.text_of(tree["subject"], "subject"),
        before=strict.digest_of(tree["before"], "before"),
        after=strict.digest_of(tree["after"], "after"),
        person=strict.text_of(tree["person"], "person"),
        source=strict.text_of(tree["source"], "source"),
        path=strict.text_of(tree["path"], "path"),
        emergency=_flag(tree["emergency"], "emergency"),
        late=_flag(tree["late"], "late"),
    )


def _evidence(value: Json) -> EvidenceRef:
    tree = strict.object_of(value, "a piece of evidence")
    outcome = next((one for one in Outcome if one.value == tree["outcome"]), None)
    if outcome is None:
        raise ValueError("`outcome` of the evidence is none of pass, block, undecided")
    return EvidenceRef(
        path=_path(tree["path"]),
        digest=_hex(tree["digest"], "digest"),
        suite=strict.text_of(tree["suite"], "suite"),
        suite_digest=_hex(tree["suite_digest"], "suite_digest"),
        kind=strict.text_of(tree["kind"], "kind"),
        outcome=outcome,
        items=_count(tree["items"], "items"),
        answered=_count(tree["answered"], "answered"),
        scored=_count(tree["scored"], "scored"),
        passed=_count(tree["passed"], "passed"),
    )


def _snapshot(value: Json) -> SnapshotRef:
    tree = strict.object_of(value, "a snapshot")
    return SnapshotRef(
        strict.text_of(tree["suite"], "suite"), _path(tree["path"]), _hex(tree["digest"], "digest")
    )


def _override(value: Json) -> Override:
    tree = strict.object_of(value, "an override")
    return Override(*(strict.text_of(tree[key], key) for key in ("check", "reason", "by")))


def _path(value: Json) -> str:
    """A path below `.tierlock/`: what a record names is read, and must not lead out of it."""
    path = strict.text_of(value, "path")
    inner = path.removeprefix(ROOT)
    if inner == path:
        raise ValueError("`path` is not below .tierlock/")
    return ROOT + strict.name_of(inner, "path")


def _hex(value: Json, key: str) -> str:
    found = strict.digest_of(value, key)
    if found is None:
        raise ValueError(f"`{key}` is not 64 hex digits")
    return found


def _time(value: Json) -> str:
    strict.time_of(value, "created_at")
    return str(value)


def _optional(value: Json, key: str) -> str:
    if value is None:
        return ""
    if not (text := strict.text_of(value, key)):
        raise ValueError(f"`{key}` is empty, where null is meant")
    return text


def _flag(value: Json, key: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"`{key}` is neither true nor false")
    return value


def _count(value: Json, key: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"`{key}` is not a count")
    return value
