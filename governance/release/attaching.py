"""Attaching an export to the image of a release, in its registry.

- The subject is the manifest by digest: a tag that moved does not take the attachment along, and an image
  that is named by a tag alone has none to attach to.
- The same export attached twice is one artifact: it has one digest.
- A registry that keeps no list of referrers gets one under the tag that the specification lays down.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from governance.adapters import registry_push as push
from governance.adapters.registry import Registry
from governance.errors import Unreadable
from governance.fingerprint.image import ACCEPT, Reference, parse_reference
from governance.release.attestation import image_of
from governance.release.record import Record

MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
EMPTY_TYPE: Final = "application/vnd.oci.empty.v1+json"
EMPTY: Final = b"{}"


@dataclass(frozen=True, slots=True)
class Export:
    """One file to attach: its bytes, media type, and what its predicate is, if it has one."""

    data: bytes
    media_type: str
    predicate: str = ""


@dataclass(frozen=True, slots=True)
class Attached:
    """Where an export lies now: the image it refers to, the digest of the artifact, and who lists it."""

    image: str
    digest: str
    listed: str


def subject_of(record: Record) -> Reference:
    """The image of a release by digest. Raises `Unreadable` when there is none, or no digest of it."""
    reference, digest = image_of(record)
    if not reference or not digest:
        what = f"names `{reference}` by a tag alone" if reference else "has no image"
        raise Unreadable(
            f"{record.label} {what}: there is nothing that an attestation could stay with",
            where=record.path,
            hint="pin the image in the base config: image: {ref: name@sha256:…}",
        )
    parsed = parse_reference(reference)
    return Reference(parsed.host, parsed.name, parsed.tag, digest)


def attach(record: Record, export: Export, connect: Callable[[Reference], Registry]) -> Attached:
    """Where `export` lies after it was attached to the image of `record`. Raises `Unreachable`."""
    subject = subject_of(record)
    registry = connect(subject)
    image = registry.manifest(subject.name, subject.digest, ACCEPT)
    body = json.dumps(_manifest(record, export, {
        "mediaType": image.media_type.partition(";")[0].strip() or MANIFEST,
        "digest": subject.digest,
        "size": len(image.body),
    })).encode()  # fmt: skip
    push.push_blob(registry, subject.name, EMPTY)
    push.push_blob(registry, subject.name, export.data)
    digest, headers = push.push_manifest(registry, subject.name, body, MANIFEST)
    if headers.get("oci-subject") == subject.digest:
        return Attached(str(subject), digest, "the registry")
    push.list_referrer(registry, subject.name, subject.digest, {
        "mediaType": MANIFEST,
        "digest": digest,
        "size": len(body),
        "artifactType": export.media_type,
        "annotations": _annotations(record, export),
    })  # fmt: skip
    return Attached(str(subject), digest, f"tag {push.fallback_tag(subject.digest)}")


def _manifest(record: Record, export: Export, subject: dict[str, object]) -> dict[str, object]:
    """An artifact manifest of the image specification 1.1: an empty config, the export as its one layer."""
    return {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": export.media_type,
        "config": {"mediaType": EMPTY_TYPE, "digest": push.digest_of(EMPTY), "size": len(EMPTY)},
        "layers": [
            {
                "mediaType": export.media_type,
                "digest": push.digest_of(export.data),
                "size": len(export.data),
                "annotations": _annotations(record, export),
            }
        ],
        "subject": subject,
        "annotations": {
            "org.opencontainers.image.created": record.created_at,
            **_annotations(record, export),
        },
    }


def _annotations(record: Record, export: Export) -> dict[str, str]:
    said = {"dev.tierlock.service": record.service, "dev.tierlock.release": record.id,
            "dev.tierlock.fingerprint": record.fingerprint}  # fmt: skip
    return {**said, **({"in-toto.io/predicate-type": export.predicate} if export.predicate else {})}
