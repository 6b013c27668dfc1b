"""A release as an in-toto attestation: a Statement about the image, in a DSSE envelope when it is signed.

- Subjects are the image by its digest where one is known, the record by its SHA-256, the commit, and the
  config fold under the name of its scheme: whoever holds one of them can find the release.
- The predicate is what the record says without the capture, which names packages and variables of a host.
- The payload is canonical JSON; signed is its DSSE pre-authentication encoding, by an SSH key in the
  namespace of release records. A signature in the envelope is the SSHSIG, base64 as DSSE asks.
- Same record, same bytes. Pure.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final

from governance.adapters import sshsig
from governance.errors import Unreadable
from governance.fingerprint.image import Image
from governance.release import record as records
from governance.release.record import Record
from governance.review.statement import PAYLOAD_TYPE, STATEMENT, signed_bytes
from governance.tiers.canonical import canonical
from governance.values import Json, Unknown

PREDICATE: Final = "https://tierlock.dev/release/v1"
ENVELOPE_TYPE: Final = "application/vnd.dsse.envelope.v1+json"
_LEFT_OUT: Final = ("schema", "digest", "capture")


def statement(record: Record) -> dict[str, Json]:
    """The in-toto Statement v1 about `record`."""
    return {
        "_type": STATEMENT,
        "subject": [*_images(record), *_own(record)],
        "predicateType": PREDICATE,
        "predicate": _predicate(record),
    }


def payload(record: Record) -> bytes:
    """The bytes of the statement: what is signed, and what stands alone when nobody signs."""
    return canonical(statement(record))


def envelope(data: bytes, sign: Callable[[bytes], str]) -> bytes:
    """The DSSE envelope of a payload. `sign` gives the armoured SSH signature of what DSSE signs."""
    armoured = sign(signed_bytes(data))
    parts = sshsig.parse(armoured)
    if parts is None:
        raise Unreadable("ssh-keygen gave something that is no signature", hint="ssh-keygen -Y sign")
    tree: Json = {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(data).decode(),
        "signatures": [{"keyid": parts.key, "sig": "".join(armoured.splitlines()[1:-1])}],
    }
    return records.text_of(tree)


def image_of(record: Record) -> tuple[str, str]:
    """Reference and `sha256:…` of the image of a release; the digest is empty where none is known.

    The base config decides; where it names a tag alone, the digest that was captured.
    """
    from governance.fingerprint.image import parse_reference

    pinned = parse_reference(record.image).digest if record.image else ""
    capture = record.captured()
    seen = capture.image if capture is not None else None
    reference = record.image or (seen.reference if isinstance(seen, Image) else "")
    return reference, pinned or (seen.manifest if isinstance(seen, Image) else "")


def _images(record: Record) -> list[Json]:
    reference, digest = image_of(record)
    algorithm, _, digits = digest.partition(":")
    return [{"name": reference.partition("@")[0], "digest": {algorithm: digits}}] if digits else []


def _own(record: Record) -> list[Json]:
    data = records.dump(record)
    return [
        {"name": record.path, "digest": {"sha256": records.digest_of(data)}},
        {"name": record.label, "digest": {record.scheme: record.fingerprint}},
        {"name": "commit", "digest": {"gitCommit": record.commit}},
    ]


def _predicate(record: Record) -> Json:
    tree = records.tree_of(records.dump(record))
    said: dict[str, Json] = {name: value for name, value in tree.items() if name not in _LEFT_OUT}
    open_ = [name for name, value in record.layers.items() if isinstance(value, Unknown)]
    return {**said, "notCovered": list(open_)}
