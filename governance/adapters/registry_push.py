"""Putting blobs and manifests into a registry, and finding what refers to a manifest.

- A blob that is there is not sent again; one request where the registry takes it so, two where it does not.
- Where a registry keeps no list of referrers (it answers 404), the list is a manifest under the tag
  `sha256-<digest>`, as the distribution specification lays down (1.1, "referrers tag schema").
- What was sent is what the registry names: an answer with another digest is an error.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urljoin, urlsplit

from governance.adapters.registry import NotThere, Registry
from governance.errors import Unreachable

INDEX: Final = "application/vnd.oci.image.index.v1+json"
_BINARY: Final = "application/octet-stream"


def digest_of(data: bytes) -> str:
    """`sha256:<hex>` of these bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def push_blob(registry: Registry, name: str, data: bytes) -> str:
    """The digest of `data`, which repository `name` has from now on. Raises `Unreachable`."""
    digest = digest_of(data)
    if registry.has_blob(name, digest):
        return digest
    start = f"{registry.base}/v2/{name}/blobs/uploads/"
    _, headers = registry.ask(start, {"Content-Type": _BINARY}, name, method="POST", body=b"")
    place = headers.get("location", "")
    if not place:
        raise Unreachable("the registry takes no upload: it names no place for it", where=start)
    url = urljoin(start, place)
    if registry.base.startswith("https:") and not url.startswith("https:"):
        raise Unreachable("the registry asks for the upload over plain HTTP", where=url)
    url += ("&" if urlsplit(url).query else "?") + f"digest={quote(digest, safe='')}"
    registry.ask(url, {"Content-Type": _BINARY}, name, method="PUT", body=data)
    return digest


def push_manifest(
    registry: Registry, name: str, body: bytes, media_type: str, *, tag: str = ""
) -> tuple[str, Mapping[str, str]]:
    """The digest of a manifest that repository `name` has from now on, and the headers of the answer. Raises
    `Unreachable`.
    """
    digest = digest_of(body)
    url = f"{registry.base}/v2/{name}/manifests/{tag or digest}"
    _, headers = registry.ask(url, {"Content-Type": media_type}, name, method="PUT", body=body)
    named = headers.get("docker-content-digest", digest)
    if named != digest:
        raise Unreachable(f"the registry took {digest} for {named}", where=url)
    return digest, headers


def referrers(registry: Registry, name: str, subject: str) -> tuple[Mapping[str, Any], ...]:
    """The descriptors of what refers to the manifest `subject`, from either list. Raises `Unreachable`."""
    url = f"{registry.base}/v2/{name}/referrers/{subject}"
    try:
        body, _ = registry.ask(url, {"Accept": INDEX}, name)
    except NotThere:
        return tagged_referrers(registry, name, subject)
    return _manifests(body, url)


def tagged_referrers(registry: Registry, name: str, subject: str) -> tuple[Mapping[str, Any], ...]:
    """The descriptors listed under the tag of `subject`; none when there is no such tag."""
    tag = fallback_tag(subject)
    try:
        answer = registry.manifest(name, tag, INDEX)
    except NotThere:
        return ()
    return _manifests(answer.body, f"{registry.base}/v2/{name}/manifests/{tag}")


def list_referrer(registry: Registry, name: str, subject: str, descriptor: Mapping[str, Any]) -> None:
    """Put `descriptor` into the list under the tag of `subject`, for a registry that keeps none itself."""
    known = tagged_referrers(registry, name, subject)
    if any(one.get("digest") == descriptor["digest"] for one in known):
        return
    push_manifest(registry, name, _index([*known, descriptor]), INDEX, tag=fallback_tag(subject))


def fallback_tag(subject: str) -> str:
    """`sha256-<hex>`: the tag under which referrers of `subject` are listed."""
    return subject.replace(":", "-", 1)


def _index(manifests: Sequence[Mapping[str, Any]]) -> bytes:
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": list(manifests)}).encode()


def _manifests(body: bytes, url: str) -> tuple[Mapping[str, Any], ...]:
    try:
        listed = json.loads(body)["manifests"]
    except (ValueError, LookupError, TypeError) as err:
        raise Unreachable(
            "the registry answered with something that is no list of referrers", where=url
        ) from err
    return tuple(one for one in listed if isinstance(one, dict))
