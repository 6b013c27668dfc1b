"""Approvals for tests: a policy of a few people, statements, records, and signers real and pretended."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from governance.adapters import sshsig
from governance.review import statement
from governance.review.approval import as_evidence
from governance.review.model import Evidence, Signature, Subject, SubjectKind
from governance.review.policy import Policy
from governance.review.statement import Record, Statement

NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)
A, B, C = ("a" * 64, "b" * 64, "c" * 64)
SUBJECT = Subject(SubjectKind.CONFIG, "sampling/factual", A, B)


def pretended_key(name: str) -> str:
    """A public key line that nobody has the private half of."""
    secret = hashlib.sha256(name.encode()).digest()
    kind = b"ssh-ed25519"
    blob = len(kind).to_bytes(4, "big") + kind + (32).to_bytes(4, "big") + secret
    return f"ssh-ed25519 {base64.b64encode(blob).decode()}"


def pretended_signature(data: bytes, public_key: str) -> str:
    """A signature in the form of ssh-keygen, with a digest where the mathematics would be."""
    key = sshsig.key_blob(public_key)
    assert key is not None
    fields = (key, b"tierlock", b"", b"sha512", hashlib.sha256(key + data).digest())
    body = b"".join(len(one).to_bytes(4, "big") + one for one in fields)
    return sshsig.armour(b"SSHSIG" + (1).to_bytes(4, "big") + body)


def verify(data: bytes, signature: str, public_key: str) -> bool:
    """Whether `pretended_signature` made it: stands in for ssh-keygen where speed matters."""
    return signature == pretended_signature(data, public_key)


def settings(**review: Any) -> dict[str, Any]:
    """The tree of a tierlock.yaml: reviewers a and b and the author are in the role, the outsider is not."""
    people = {
        name: {"keys": [pretended_key(name)], "emails": [f"{name}@example.org"], "github": number}
        for number, name in enumerate(("author-a", "reviewer-a", "reviewer-b", "outsider-a"), 101)
    }
    plain = {
        "people": people,
        "roles": {"platform": ["author-a", "reviewer-a", "reviewer-b"], "on-call": ["reviewer-b"]},
        "sampling": {"approvals": 1, "from": ["platform"]},
        "break_glass": {"from": ["on-call"], "max_hours": 4, "follow_up_days": 3},
    }
    return {"version": 1, "review": {**plain, **review}}


def policy(**review: Any) -> Policy:
    """The policy of `settings`."""
    return Policy.of(settings(**review))


def said(person: str = "reviewer-a", subject: Subject = SUBJECT, **more: Any) -> Statement:
    """A statement given an hour ago."""
    plain = Statement(subject, policy().digest, person, "measured", NOW - timedelta(hours=1))
    return replace(plain, **more)


def record(given: Statement | None = None, *keys: str) -> Record:
    """`given` signed by the keys of these names (default: the person's own)."""
    given = given or said()
    payload = statement.payload_of(given)
    data = statement.signed_bytes(payload)
    signatures = []
    for name in keys or (given.person,):
        line = pretended_key(name)
        blob = sshsig.key_blob(line)
        assert blob is not None
        signatures.append(Signature(sshsig.fingerprint_of_blob(blob), pretended_signature(data, line)))
    return Record(given, payload, tuple(signatures))


def evidence(given: Statement | None = None, *keys: str, **more: Any) -> Evidence:
    """A record as it is found."""
    made = record(given, *keys)
    return replace(as_evidence(made, made.path), **more)
