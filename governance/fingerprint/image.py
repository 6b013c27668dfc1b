"""The image layer: references, manifests and indexes of an OCI registry, `inspect` output, mounts.

- The layer is the digest of the *platform manifest*: an index is another digest for the same bits, a tag is
  none.
- A digest is believed when the bytes hash to it. What a registry or a local engine merely says is `reported`.
- `name` means `docker.io/library/name:latest`; a reference without a digest is not pinned, whatever its tag.
- A mount over files of the image changes what runs: it enters with the digest of its files, or the layer is
  unknown.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from governance.errors import Usage
from governance.fingerprint.notices import notice
from governance.values import Json, Tree, Unknown

if TYPE_CHECKING:
    from governance.verdict import Finding

DOCKER_HUB: Final = "docker.io"
INDEX_TYPES: Final = frozenset(
    {
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
    }
)
MANIFEST_TYPES: Final = frozenset(
    {
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    }
)
ACCEPT: Final = ", ".join(sorted(INDEX_TYPES | MANIFEST_TYPES))

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
_NAME: Final = re.compile(
    r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*"
)
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_HOST: Final = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?")


@dataclass(frozen=True, slots=True)
class Reference:
    """One image reference, complete: registry host (with port), repository, tag and digest (either may be
    empty).
    """

    host: str
    name: str
    tag: str = ""
    digest: str = ""

    @property
    def pinned(self) -> bool:
        """Whether it names content: it has a digest."""
        return bool(self.digest)

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.host}/{self.name}{tag}" + (f"@{self.digest}" if self.digest else "")


def parse_reference(text: str) -> Reference:
    """The reference that `text` means, with Docker's defaults filled in. Raises `Usage` naming the fault."""
    rest, at, digest = text.strip().removeprefix("docker://").partition("@")
    if at and not _DIGEST.fullmatch(digest):
        raise _bad(text, f"`{digest}` is not a digest", "a digest is sha256: and 64 hex digits")
    head, slash, tail = rest.partition("/")
    if slash and ("." in head or ":" in head or head == "localhost" or head.startswith("[")):
        host, path = head, tail
    else:
        host, path = DOCKER_HUB, rest
    name, colon, tag = path.partition(":")
    if host in ("index.docker.io", "registry-1.docker.io"):
        host = DOCKER_HUB
    if host == DOCKER_HUB and "/" not in name:
        name = f"library/{name}"
    if not _HOST.fullmatch(host):
        raise _bad(text, f"`{host}` is not a registry host", "host, or host:port")
    if not _NAME.fullmatch(name):
        raise _bad(
            text, f"`{name}` is not a repository name", "lower-case letters, digits, `.`, `_`, `-`, `/`"
        )
    if colon and not _TAG.fullmatch(tag):
        raise _bad(text, f"`{tag}` is not a tag", "letters, digits, `.`, `_`, `-`")
    return Reference(host, name, tag or ("" if digest else "latest"), digest)


def _bad(text: str, what: str, hint: str) -> Usage:
    return Usage(f"`{text}` is not an image reference: {what}", hint=hint)


@dataclass(frozen=True, slots=True)
class Mount:
    """Something laid over the image: where, and the digest of what is laid there (empty when not known)."""

    target: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    """One image. `manifest` is the verified digest of the platform manifest; where only a local engine
    could be asked it is empty and `reported` holds the digests it names.
    """

    reference: str
    manifest: str = ""
    index: str = ""
    platform: str = ""
    config: str = ""
    reported: tuple[str, ...] = ()
    tag_digest: str = ""
    mounts: tuple[Mount, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


def sha256_of(body: bytes) -> str:
    """`sha256:<hex>` of these bytes."""
    return "sha256:" + hashlib.sha256(body).hexdigest()


def parse_manifest(body: bytes, media_type: str) -> dict[str, Any] | Unknown:
    """The JSON of a manifest or index of a type this tool reads, or why it is not."""
    try:
        value = json.loads(body)
    except ValueError:
        return Unknown("the registry answered with something that is not a manifest")
    if not isinstance(value, dict):
        return Unknown("the registry answered with something that is not a manifest")
    kind = value.get("mediaType") or media_type.partition(";")[0].strip()
    if value.get("schemaVersion") == 1:
        return Unknown(
            "the registry has an image manifest of schema 1 only, whose digest is not of its content"
        )
    if kind not in INDEX_TYPES | MANIFEST_TYPES:
        return Unknown(f"the registry answered with `{kind}`")
    return {**value, "mediaType": kind}


def is_index(manifest: Mapping[str, Any]) -> bool:
    """Whether this is a list of manifests by platform."""
    return manifest.get("mediaType") in INDEX_TYPES


def choose_platform(index: Mapping[str, Any], platform: str) -> str | Unknown:
    """The digest of the manifest for `os/arch[/variant]` in an index, or `Unknown` listing what is there."""
    wanted = platform.split("/")
    listed = [entry for entry in index.get("manifests", ()) if isinstance(entry, dict)]
    named = [(_platform_of(entry), str(entry.get("digest", ""))) for entry in listed]
    fits = [digest for name, digest in named if _fits(name, wanted) and _DIGEST.fullmatch(digest)]
    exact = [digest for name, digest in named if name == platform and digest in fits]
    chosen = exact or fits
    if len(set(chosen)) == 1:
        return chosen[0]
    there = ", ".join(sorted({name for name, _ in named if not name.startswith("unknown")})) or "none"
    problem = "no image" if not chosen else "more than one image"
    return Unknown(f"the index has {problem} for {platform}; it has {there}")


def _platform_of(entry: Mapping[str, Any]) -> str:
    value = entry.get("platform") or {}
    parts = [str(value.get(key, "")) for key in ("os", "architecture", "variant")]
    return "/".join(part for part in parts if part)


def _fits(name: str, wanted: Sequence[str]) -> bool:
    have = name.split("/")
    return have[:2] == list(wanted[:2]) and (len(wanted) < 3 or len(have) < 3 or have[2] == wanted[2])


def platform_of_machine(machine: str) -> str:
    """`linux/amd64` for `x86_64`: the name registries use for this machine."""
    names = {
        "x86_64": "amd64",
        "amd64": "amd64",
        "aarch64": "arm64/v8",
        "arm64": "arm64/v8",
        "ppc64le": "ppc64le",
    }
    return "linux/" + names.get(machine.lower(), machine.lower())


def from_inspect(data: bytes, reference: str = "") -> Image | Unknown:
    """The image in the output of `docker inspect`, `podman inspect` or `docker image inspect` (image or
    container).

    The digests it names are reported, not verified.
    """
    try:
        value = json.loads(data)
        if isinstance(value, list):
            if len(value) != 1:
                return Unknown(f"the inspect output describes {len(value)} things; give one")
            value = value[0]
        return _inspected(value, reference)
    except (ValueError, TypeError, AttributeError, KeyError):
        return Unknown("this is not the output of an inspect command")


def _inspected(value: Mapping[str, Any], reference: str) -> Image | Unknown:
    repo_digests = value.get("RepoDigests") or []
    reported = {str(entry).partition("@")[2] for entry in repo_digests}
    reported |= {str(value[key]) for key in ("Digest", "ImageDigest") if value.get(key)}
    reported = {digest for digest in reported if _DIGEST.fullmatch(digest)}
    config = value.get("Config") or {}
    labels = config.get("Labels") or value.get("Labels") or {}
    identifier = str(value.get("Image") if "State" in value else value.get("Id", ""))
    name = reference or next(iter(value.get("RepoTags") or repo_digests), "") or str(config.get("Image", ""))
    if not reported:
        return Unknown(
            f"the local image `{name or identifier[:19]}` has no registry digest: it was built here or loaded"
        )
    machine = "/".join(str(value[key]) for key in ("Os", "Architecture", "Variant") if value.get(key))
    mounts = tuple(Mount(str(m["Destination"])) for m in value.get("Mounts") or [] if m.get("Destination"))
    return Image(
        name,
        platform=machine,
        config=identifier if _DIGEST.fullmatch(identifier) else "",
        reported=tuple(sorted(reported)),
        mounts=mounts,
        labels={str(k): str(v) for k, v in labels.items()},
    )


def layer_value(image: Image) -> Tree | Unknown:
    """What the image digest is taken from, or `Unknown` when a mount or the image itself is not known."""
    bare = [mount.target for mount in image.mounts if not mount.digest]
    if bare:
        return Unknown("mounted over the image with no digest: " + ", ".join(sorted(bare)[:5]))
    if not image.manifest and not image.reported:
        return Unknown("no digest of the image is known")
    value: dict[str, Json] = {}
    if image.manifest:
        value["manifest"] = image.manifest
    else:
        value["reported"] = list(image.reported)
    if image.mounts:
        value["mounts"] = {mount.target: mount.digest for mount in image.mounts}
    return value


def same_image(left: Image, right: Image) -> bool | Unknown:
    """Whether two captures show one image, whatever each could find out about it.

    A local engine reports the index or the manifest it pulled; either counts for the same image.
    """
    if left.manifest and right.manifest:
        return left.manifest == right.manifest
    if left.config and left.config == right.config:
        return True
    names_left, names_right = _names(left), _names(right)
    if names_left & names_right:
        return True
    complete = [bool(image.reported) or bool(image.manifest and image.index) for image in (left, right)]
    if all(complete):
        return False
    return Unknown("one side names an index and the other a manifest; ask the registry for both")


def _names(image: Image) -> set[str]:
    return {name for name in (image.manifest, image.index, *image.reported) if name}


def with_mounts(image: Image, mounts: Iterable[Mount]) -> Image:
    """The image with these mounts laid over it."""
    return replace(image, mounts=tuple(sorted(mounts, key=lambda mount: mount.target)))


def findings(reference: Reference, image: Image | Unknown) -> tuple[Finding, ...]:
    """What there is to say: not pinned, tag moved, overlaid."""
    found: list[Finding] = []
    if not reference.pinned:
        tag = f"tag `{reference.tag}`" if reference.tag != "latest" else "no tag, which means `latest`"
        found.append(notice("TL971", f"`{reference.name}` is named by {tag} only", key="image.ref"))
    if isinstance(image, Unknown):
        return tuple(found)
    if reference.pinned and image.tag_digest and image.tag_digest != reference.digest:
        text = f"tag `{reference.tag}` is now {image.tag_digest[:19]}, pinned is {reference.digest[:19]}"
        found.append(notice("TL970", text, key="image.ref"))
    if image.mounts:
        targets = ", ".join(mount.target for mount in image.mounts)
        found.append(notice("TL972", f"mounted over the image: {targets}", key="image.mounts"))
    return tuple(found)


def engine_version_differs(declared: str, actual: str, *, engine: str, source: str) -> tuple[Finding, ...]:
    """The finding that a declared engine version is not the one that was found, empty when they agree."""
    from governance.fingerprint.versions import normal_version

    if not declared or not actual or normal_version(declared) == normal_version(actual):
        return ()
    text = f"{engine} is declared {declared} ({source}) and is {actual}"
    return (notice("TL956", text, key="engine.version"),)


def to_json(image: Image) -> Tree:
    """Everything a record keeps of this image; `from_json` reads it back."""
    return {
        "reference": image.reference,
        "manifest": image.manifest,
        "index": image.index,
        "platform": image.platform,
        "config": image.config,
        "reported": list(image.reported),
        "tag_digest": image.tag_digest,
        "mounts": {mount.target: mount.digest for mount in image.mounts},
        "labels": dict(image.labels),
    }


def from_json(value: Tree) -> Image:
    """The image that `to_json` wrote. Raises `KeyError`, `TypeError` or `ValueError` on anything else."""
    mounts, labels, reported = value["mounts"], value["labels"], value["reported"]
    if not isinstance(mounts, Mapping) or not isinstance(labels, Mapping) or not isinstance(reported, list):
        raise TypeError("mounts, labels or reported are not what they should be")
    texts = {
        key: str(value[key]) for key in ("reference", "manifest", "index", "platform", "config", "tag_digest")
    }
    return Image(
        **texts,
        reported=tuple(map(str, reported)),
        mounts=tuple(Mount(target, str(digest)) for target, digest in sorted(mounts.items())),
        labels={key: str(item) for key, item in labels.items()},
    )
