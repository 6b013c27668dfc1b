"""An approval as bytes: the in-toto Statement that is signed, and the record that carries it.

- The statement is canonical JSON (RFC 8785). What is signed is its DSSE pre-authentication encoding, so the
  type of the payload is signed too; the namespace of the signature is `tierlock`.
- The record is a DSSE-like envelope whose signatures are SSHSIG. Its bytes have one spelling: sorted keys,
  two blanks, strict base64, signatures as ssh-keygen writes them. No byte can change and still be read.
- A record's name begins with the first 12 digits of the SHA-256 of its payload, so two approvals never share
  a file, and a withdrawal lies beside the approval it takes back.
- Read is only what the format says: an unknown key, a missing one, another type is refused. A newer version
  is `NewerFormat`: undecided, not wrong. Every version released stays readable (tests/compat/approvals).
- Pure: bytes in, values out.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from governance.adapters import sshsig
from governance.errors import NewerFormat, Unreadable
from governance.records import dataclass
from governance.review import strict
from governance.review.model import POLICY_NAME, Signature, Subject, SubjectKind
from governance.tiers.canonical import canonical
from governance.tiers.naming import TIERS
from governance.values import Json

FOLDER: Final = ".tierlock/approvals/"
RECORD: Final = "tierlock.approval"
VERSION: Final = 1
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
STATEMENT: Final = "https://in-toto.io/Statement/v1"
APPROVAL: Final = "https://tierlock.dev/review/v1"
WITHDRAWAL: Final = "https://tierlock.dev/withdrawal/v1"
WITHDRAWN: Final = ".withdrawn.json"
EMERGENCY: Final = ".emergency.json"
MAX_BYTES: Final = 64 * 1024

_SCHEME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_FAMILIES: Final = {
    APPROVAL: "https://tierlock.dev/review/v",
    WITHDRAWAL: "https://tierlock.dev/withdrawal/v",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """`person` accepts `subject` (this pair of digests) under the policy of this digest, because, until."""

    subject: Subject
    policy: str
    person: str
    reason: str
    issued: datetime
    expires: datetime | None = None
    emergency: bool = False

    @property
    def subject_key(self) -> str:
        return self.subject.key


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """`person` takes back the approval whose payload has this SHA-256."""

    subject_key: str
    approval: str
    person: str
    reason: str
    issued: datetime


@dataclass(frozen=True, slots=True)
class Record:
    """One file: what was said, the exact bytes that were signed, and the signatures."""

    said: Statement | Withdrawal
    payload: bytes
    signatures: tuple[Signature, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of the payload: what the record is called by."""
        return hashlib.sha256(self.payload).hexdigest()

    @property
    def path(self) -> str:
        """Where the record lies in a repository."""
        said = self.said
        folder = folder_of(said.subject_key)
        if isinstance(said, Withdrawal):
            return f"{folder}{said.approval[:12]}-{said.person}{WITHDRAWN}"
        ending = EMERGENCY if said.emergency else ".json"
        return f"{folder}{self.digest[:12]}-{said.person}{ending}"


def payload_of(said: Statement | Withdrawal) -> bytes:
    """The statement as the bytes that are signed (see `signed_bytes`)."""
    return canonical(_approval_tree(said) if isinstance(said, Statement) else _withdrawal_tree(said))


def signed_bytes(payload: bytes) -> bytes:
    """The DSSE pre-authentication encoding of a payload: what ssh-keygen signs and verifies."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def read_payload(payload: bytes) -> Statement | Withdrawal:
    """What a payload says. Raises `NewerFormat`, or `ValueError` with the reason."""
    tree = strict.object_of(strict.json_of(payload), "the statement")
    strict.exactly(tree, {"_type", "subject", "predicateType", "predicate"}, "the statement")
    kind = tree["predicateType"]
    if kind not in _FAMILIES:
        _refuse_kind(kind)
    if tree["_type"] != STATEMENT:
        raise ValueError(f"`_type` is not {STATEMENT}")
    predicate = strict.object_of(tree["predicate"], "`predicate`")
    said = _approval(predicate) if kind == APPROVAL else _withdrawal(predicate)
    if payload_of(said) != payload:
        raise ValueError("the statement is not in its canonical form, or its subject is not the predicate's")
    return said


def dump(record: Record) -> bytes:
    """The record as the bytes of its file."""
    tree = {
        "schema": f"{RECORD}/{VERSION}",
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(record.payload).decode(),
        "signatures": [{"keyid": one.keyid, "sig": one.value} for one in record.signatures],
    }
    return (json.dumps(tree, indent=2, sort_keys=True) + "\n").encode()


def load(data: bytes, path: str) -> Record:
    """The record in a file. Raises `NewerFormat`, or `Unreadable` for anything but a whole, unaltered record.

    Both name `path`. Whether a signature is right, and whose key it is of, is judged elsewhere.
    """
    try:
        return _load(data)
    except NewerFormat as err:
        raise NewerFormat(err.message, where=path, hint=err.hint) from err
    except (ValueError, KeyError, TypeError) as err:
        why = f"`{err.args[0]}` is missing" if isinstance(err, KeyError) else str(err)
        raise Unreadable(
            f"`{path}` is not a whole, unaltered approval: {why}",
            where=path,
            hint="give the approval again: tierlock review approve",
        ) from err


def folder_of(subject_key: str) -> str:
    """Where approvals of a subject lie: `.tierlock/approvals/sampling/factual/`."""
    kind, _, name = subject_key.partition(":")
    return f"{FOLDER}{name}/" if kind == SubjectKind.CONFIG.value else f"{FOLDER}{kind}/{name}/"


def subject_key_of(path: str) -> str | None:
    """The subject that a record belongs to by its place, `config:sampling/factual`; None when it is out of
    place.
    """
    parts = path.removeprefix(FOLDER).split("/")
    if not path.startswith(FOLDER) or len(parts) != 3 or not parts[2].endswith(".json"):
        return None
    part, name, _ = parts
    if part in TIERS:
        return f"config:{part}/{name}"
    if part == SubjectKind.BINDING.value:
        return f"binding:{name}"
    return f"policy:{POLICY_NAME}" if (part, name) == ("policy", POLICY_NAME) else None


def time_text(moment: datetime) -> str:
    """A moment as records write it, whole seconds in UTC: `2026-11-30T09:00:00Z`."""
    return moment.astimezone(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")


def _load(data: bytes) -> Record:
    if len(data) > MAX_BYTES:
        raise ValueError(f"it has {len(data)} bytes, at most {MAX_BYTES} are read")
    tree = strict.object_of(strict.json_of(data), "the record")
    schema = tree["schema"]
    if schema != f"{RECORD}/{VERSION}":
        _refuse_schema(schema)
    strict.exactly(tree, {"schema", "payloadType", "payload", "signatures"}, "the record")
    if tree["payloadType"] != PAYLOAD_TYPE:
        raise ValueError(f"`payloadType` is not {PAYLOAD_TYPE}")
    payload = strict.base64_of(strict.text_of(tree["payload"], "payload"))
    signatures = tuple(_signature(one) for one in strict.list_of(tree["signatures"], "signatures"))
    record = Record(read_payload(payload), payload, signatures)
    if not signatures:
        raise ValueError("it carries no signature")
    if dump(record) != data:
        raise ValueError("its bytes are not the ones a record is written with")
    return record


def _signature(value: Json) -> Signature:
    tree = strict.object_of(value, "a signature")
    strict.exactly(tree, {"keyid", "sig"}, "a signature")
    keyid, armoured = strict.text_of(tree["keyid"], "keyid"), strict.text_of(tree["sig"], "sig")
    parts = sshsig.parse(armoured)
    if parts is None:
        raise ValueError("`sig` is not an SSH signature as ssh-keygen writes it")
    if parts.key != keyid:
        raise ValueError("`keyid` is not the key that the signature carries")
    return Signature(keyid, armoured)


def _approval_tree(said: Statement) -> Json:
    subject = said.subject
    digest = subject.before if subject.after is None else subject.after
    return {
        "_type": STATEMENT,
        "subject": [{"name": subject.key, "digest": {subject.scheme: digest}}],
        "predicateType": APPROVAL,
        "predicate": {
            "kind": subject.kind.value,
            "tier": subject.tier,
            "name": subject.name,
            "before": subject.before,
            "after": subject.after,
            "scheme": subject.scheme,
            "policy": said.policy,
            "person": said.person,
            "reason": said.reason,
            "issued": time_text(said.issued),
            "expires": None if said.expires is None else time_text(said.expires),
            "emergency": said.emergency,
        },
    }


def _approval(tree: Mapping[str, Json]) -> Statement:
    names = "kind tier name before after scheme policy person reason issued expires emergency"
    strict.exactly(tree, set(names.split()), "`predicate`")
    before, after = (strict.digest_of(tree[side], side) for side in ("before", "after"))
    if before == after:
        raise ValueError("`before` and `after` are the same")
    scheme = strict.text_of(tree["scheme"], "scheme")
    if not _SCHEME.fullmatch(scheme):
        raise ValueError("`scheme` is not the name of a scheme")
    emergency, expires = tree["emergency"], tree["expires"]
    if not isinstance(emergency, bool):
        raise ValueError("`emergency` is neither true nor false")
    kind = next((one for one in SubjectKind if one.value == tree["kind"]), None)
    if kind is None:
        raise ValueError(f"`kind` is none of {', '.join(one.value for one in SubjectKind)}")
    subject = Subject(kind, strict.name_of(tree["name"], "name"), before, after, scheme)
    policy = strict.digest_of(tree["policy"], "policy")
    if policy is None:
        raise ValueError("`policy` is no digest")
    return Statement(
        subject,
        policy,
        strict.person_of(tree["person"]),
        strict.reason_of(tree["reason"]),
        strict.time_of(tree["issued"], "issued"),
        None if expires is None else strict.time_of(expires, "expires"),
        emergency,
    )


def _withdrawal_tree(said: Withdrawal) -> Json:
    return {
        "_type": STATEMENT,
        "subject": [{"name": said.subject_key, "digest": {"sha256": said.approval}}],
        "predicateType": WITHDRAWAL,
        "predicate": {
            "subject": said.subject_key,
            "approval": said.approval,
            "person": said.person,
            "reason": said.reason,
            "issued": time_text(said.issued),
        },
    }


def _withdrawal(tree: Mapping[str, Json]) -> Withdrawal:
    strict.exactly(tree, {"subject", "approval", "person", "reason", "issued"}, "`predicate`")
    approval = strict.digest_of(tree["approval"], "approval")
    if approval is None:
        raise ValueError("`approval` is no digest")
    return Withdrawal(
        strict.text_of(tree["subject"], "subject"),
        approval,
        strict.person_of(tree["person"]),
        strict.reason_of(tree["reason"]),
        strict.time_of(tree["issued"], "issued"),
    )


def _refuse_schema(schema: Json) -> None:
    if isinstance(schema, str) and re.fullmatch(rf"{re.escape(RECORD)}/[1-9][0-9]{{0,5}}", schema):
        raise NewerFormat(
            f"the record has the format {schema}, this tierlock reads up to {RECORD}/{VERSION}",
            hint="upgrade tierlock",
        )
    raise ValueError(f"`schema` is not {RECORD}/{VERSION}")


def _refuse_kind(kind: Json) -> None:
    for known, family in _FAMILIES.items():
        if isinstance(kind, str) and re.fullmatch(rf"{re.escape(family)}[1-9][0-9]{{0,5}}", kind):
            raise NewerFormat(
                f"the statement is of the kind {kind}, this tierlock reads up to {known}",
                hint="upgrade tierlock",
            )
    raise ValueError("`predicateType` is neither an approval nor a withdrawal of tierlock")
