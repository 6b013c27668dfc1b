"""Look an image up in a registry: from a reference to the verified digest of one platform's manifest.

- Every body is hashed; a registry whose `Docker-Content-Digest` or whose answer to a digest does not fit the
  bytes is not believed.
- With a digest the digest is looked up, and the tag beside it too, to see whether it moved.
- Pure but for `fetch`, which is handed in and may raise `Unreachable`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from governance.errors import Unreachable
from governance.fingerprint.image import (
    ACCEPT,
    Image,
    Reference,
    choose_platform,
    is_index,
    parse_manifest,
    sha256_of,
)
from governance.values import Unknown

if TYPE_CHECKING:
    from governance.adapters.registry import Answer


class Fetch(Protocol):
    """Gets a manifest by tag or digest."""

    def __call__(self, name: str, reference: str, accept: str) -> Answer: ...


def look_up(reference: Reference, fetch: Fetch, platform: str) -> Image | Unknown:
    """The image that `reference` names for `platform` (`linux/amd64`), or why its digest cannot be had.

    Raises `Unreachable` when the registry does not answer.
    """
    first = _verified(reference, fetch, reference.digest or reference.tag)
    if isinstance(first, Unknown):
        return first
    digest, manifest = first
    image = Image(str(reference), manifest=digest, platform=platform)
    if is_index(manifest):
        chosen = choose_platform(manifest, platform)
        if isinstance(chosen, Unknown):
            return chosen
        second = _verified(reference, fetch, chosen)
        if isinstance(second, Unknown):
            return second
        image = replace(image, index=digest, manifest=second[0])
        manifest = second[1]
    config = manifest.get("config")
    image = replace(image, config=str(config.get("digest", "")) if isinstance(config, dict) else "")
    return replace(image, tag_digest=_tag_digest(reference, fetch) if reference.digest else digest)


def _verified(reference: Reference, fetch: Fetch, wanted: str) -> tuple[str, dict[str, Any]] | Unknown:
    answer = fetch(reference.name, wanted, ACCEPT)
    actual = sha256_of(answer.body)
    by_digest = ":" in wanted
    if by_digest and not wanted.startswith("sha256:"):
        return Unknown(f"digests by {wanted.partition(':')[0]} are not verified by this version")
    if by_digest and wanted != actual:
        return Unknown(f"the registry answered {wanted[:19]} with bytes of {actual[:19]}")
    if answer.digest.startswith("sha256:") and answer.digest != actual:
        return Unknown(f"the registry says {answer.digest[:19]} and sent bytes of {actual[:19]}")
    manifest = parse_manifest(answer.body, answer.media_type)
    return manifest if isinstance(manifest, Unknown) else (actual, manifest)


def _tag_digest(reference: Reference, fetch: Fetch) -> str:
    """What the tag beside a digest says now; empty when there is no tag or it is gone."""
    if not reference.tag:
        return ""
    try:
        answer = fetch(reference.name, reference.tag, ACCEPT)
    except Unreachable:
        return ""
    body = parse_manifest(answer.body, answer.media_type)
    listed = () if isinstance(body, Unknown) else body.get("manifests", ())
    if any(isinstance(entry, dict) and entry.get("digest") == reference.digest for entry in listed):
        return reference.digest  # the tag is an index, and the pinned manifest is in it
    return sha256_of(answer.body)
