"""Whether the image of a release can still be had: by its digest, with every blob that it is made of.

- A reference without a digest restores nothing: a tag names another image tomorrow.
- The registry is asked for the manifest by digest, and for config and layers one by one: a retention job may
  have taken any of them. What the tag says by now is told, and counts for nothing.
- Gone blocks; a registry that does not answer is undecided.
- A driver that starts a program of this host uses no image.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from governance.adapters.registry import NotThere
from governance.engines.keys import look
from governance.errors import Unreachable, Usage
from governance.fingerprint.image import (
    ACCEPT,
    Reference,
    choose_platform,
    is_index,
    parse_manifest,
    parse_reference,
    sha256_of,
)
from governance.release.deploy.target import CONTAINED
from governance.release.restorable.model import ON_HOST, Images, Neighbours, Subject
from governance.values import Unknown
from governance.verdict import Check, Outcome

NAME: Final = "image"


class _Gone(Exception):
    """Something of the image is not there any more."""


def check_image(subject: Subject, world: Neighbours) -> Check:
    """The check `image` of one release."""
    written = subject.record.image
    if subject.driver in ON_HOST:
        return Check(NAME, Outcome.PASS, f"not used: the {subject.driver} driver runs a program of the host")
    if not written:
        return _without(subject)
    if (fault := pin_fault(written)) is not None:
        return fault
    reference = parse_reference(written)
    try:
        images = world.images(reference)
        blobs = _there(reference, images, _platform(subject, world))
    except _Gone as err:
        return Check(NAME, Outcome.BLOCK, f"it cannot be restored: {err}")
    except Unreachable as err:
        return Check(NAME, Outcome.UNDECIDED, f"{reference.host}: {err.message}")
    if isinstance(blobs, Unknown):
        return Check(NAME, Outcome.UNDECIDED, blobs.reason)
    told = f"{reference.digest[:19]} in {reference.host} with {blobs} blobs"
    return Check(NAME, Outcome.PASS, told + _moved(reference, images))


def pin_fault(written: str) -> Check | None:
    """Why an image reference restores nothing; None when a digest names it."""
    try:
        reference = parse_reference(written)
    except Usage as err:
        return Check(NAME, Outcome.BLOCK, err.message)
    if reference.pinned:
        return None
    told = f"`{written}` has no digest, so the image cannot be restored: the tag may name another one by now"
    return Check(NAME, Outcome.BLOCK, told)


def needs_image(driver: str) -> bool:
    """Whether a driver runs what an image holds."""
    return driver in CONTAINED


def _without(subject: Subject) -> Check:
    if needs_image(subject.driver):
        told = f"the base config names none, and the {subject.driver} driver starts one"
        return Check(NAME, Outcome.BLOCK, told)
    return Check(NAME, Outcome.PASS, "none: the base config names no image")


def _platform(subject: Subject, world: Neighbours) -> str:
    declared = look(subject.base, "image.platform")
    return declared if isinstance(declared, str) else world.platform


def _there(reference: Reference, images: Images, platform: str) -> int | Unknown:
    """How many blobs the image has, all of them there. Raises `_Gone` and `Unreachable`."""
    manifest = _manifest(reference, images, reference.digest)
    if isinstance(manifest, Unknown):
        return manifest
    if is_index(manifest):
        chosen = choose_platform(manifest, platform)
        if isinstance(chosen, Unknown):
            raise _Gone(chosen.reason)
        manifest = _manifest(reference, images, chosen)
        if isinstance(manifest, Unknown):
            return manifest
    blobs = tuple(dict.fromkeys(_blobs(manifest)))
    missing = [digest for digest in blobs if not images.has_blob(reference.name, digest)]
    if missing:
        raise _Gone(f"{len(missing)} of {len(blobs)} blobs are gone from {reference.host}: {missing[0][:19]}")
    return len(blobs)


def _manifest(reference: Reference, images: Images, digest: str) -> Mapping[str, Any] | Unknown:
    try:
        answer = images.manifest(reference.name, digest, ACCEPT)
    except NotThere as err:
        raise _Gone(f"{reference.host}/{reference.name} has no {digest[:19]} any more") from err
    if not digest.startswith("sha256:"):
        return Unknown(f"digests by {digest.partition(':')[0]} are not verified by this version")
    if sha256_of(answer.body) != digest:
        return Unknown(f"{reference.host} answered {digest[:19]} with other bytes")
    return parse_manifest(answer.body, answer.media_type)


def _blobs(manifest: Mapping[str, Any]) -> Iterator[str]:
    listed = manifest.get("layers")
    for entry in (manifest.get("config"), *(listed if isinstance(listed, list) else ())):
        # a layer with addresses of its own is fetched from there, not from this registry
        if isinstance(entry, Mapping) and isinstance(entry.get("digest"), str) and not entry.get("urls"):
            yield str(entry["digest"])


def _moved(reference: Reference, images: Images) -> str:
    """What is to be said of a tag beside the digest."""
    if not reference.tag:
        return ""
    try:
        now = sha256_of(images.manifest(reference.name, reference.tag, ACCEPT).body)
    except Unreachable:
        return f"; the tag {reference.tag} is not there any more, the digest counts"
    if now == reference.digest:
        return ""
    return f"; the tag {reference.tag} is {now[:19]} by now, the digest counts"
