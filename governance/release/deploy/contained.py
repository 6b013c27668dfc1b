"""What drivers of containers share: what a container runs, its labels, its mounts, and what it is shown as.

- The program is always said, so the entrypoint of the image counts for nothing that the repository does not
  see: the one of `image.entrypoint`, else the program of the launch (`deploy.binary` stands in for it).
- Packages that are installed at start are refused: they are others every day.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from governance.adapters.containers import Container, Engine
from governance.adapters.files import read_file
from governance.engines.keys import look
from governance.errors import Unreadable, Usage
from governance.release.deploy.model import Replica, Target
from governance.release.deploy.target import host_source, mounts_of
from governance.values import ABSENT, Tree, Unknown

LABEL: Final = "dev.tierlock"
GRACE: Final = 30.0
"""Seconds a container has to end when asked."""
_SMALL: Final = 64 << 20  # weights have their own check, with a cache
# The words in front of the arguments, where they are more than the program.
_PROGRAM_WORDS: Final = {"vllm": 2, "sglang": 3, "transformers": 2, "ollama": 2, "tensorrt-llm": 2}


def words_of(target: Target) -> tuple[str, ...]:
    """The whole command of the container, program first."""
    entrypoint = look(target.base, "image.entrypoint")
    if not isinstance(entrypoint, list | tuple) or not entrypoint:
        return target.launch.argv
    count = _PROGRAM_WORDS.get(str(look(target.base, "engine.name")), 1)
    return (*map(str, entrypoint), *target.launch.argv[count:])


def pinned_image(target: Target) -> str:
    """The image by digest. Raises `Usage` when the base config names none, or one that can move."""
    if not target.image:
        raise Usage("the base config names no image", where="image.ref", hint="image: {ref: NAME@sha256:…}")
    if "@" not in target.image:
        raise Usage(
            f"`{target.image}` is a tag: what it names today is not what was released",
            where="image.ref",
            hint=f"pin it: skopeo inspect --format '{{{{.Digest}}}}' docker://{target.image}",
        )
    if look(target.base, "image.install_at_start") not in (ABSENT, []):
        raise Usage(
            "packages installed at start are others every day",
            where="image.install_at_start",
            hint="build them into the image",
        )
    return target.image


def digest_of(image: str, known: tuple[str, ...]) -> str:
    """The digest of what runs: that of `image` when the engine knows what runs by it, else what it says.

    An engine knows an image by several: that of the index it came from, and that of its platform.
    """
    digests = [name.rpartition("@")[2] for name in known]
    wanted = image.rpartition("@")[2]
    return wanted if wanted in digests else digests[-1] if digests else ""


def labels_of(target: Target) -> dict[str, str]:
    """The labels a container of `target` carries."""
    said = {"service": target.service, "release": target.release, "fingerprint": target.fingerprint}
    return {f"{LABEL}.{key}": value for key, value in said.items()}


def check_mounts(target: Target) -> None:
    """Return when everything that is mounted is there, and is what its digest says. Raises `Unreadable`."""
    for mount in mounts_of(target.base):
        _check_mount(mount, target.root)


def replica(found: Container, target: Target) -> Replica:
    """A container as the server it is, with the digest of what really runs."""
    digest = digest_of(target.image, found.digests)
    return Replica(
        f"container {found.name}",
        target.url,
        found.started_at,
        digest or Unknown("the container engine knows no digest of the image"),
        found.argv,
        found.labels.get(f"{LABEL}.fingerprint", ""),
        found.restarts,
    )


def stop_all(engine: Engine, found: Iterable[Container]) -> None:
    """End and remove these containers."""
    for one in found:
        if one.running:
            engine.stop(one.name, grace=GRACE)
        engine.remove(one.name)


def _check_mount(mount: Tree, root: Path) -> None:
    """A file that is mounted is there, and is the one the base config names by digest."""
    source, digest = host_source(mount, root), str(mount.get("digest", ""))
    if source is None:
        return
    if not source.exists():
        raise Unreadable(f"`{mount['source']}` is not on this host", where="image.mounts")
    algorithm, _, hex_digits = digest.partition(":")
    if source.is_file() and algorithm == "sha256" and source.stat().st_size <= _SMALL:
        found = hashlib.sha256(read_file(source)).hexdigest()
        if found != hex_digits:
            raise Unreadable(
                f"`{mount['source']}` is not what the base config names: sha256:{found[:12]}, "
                f"expected {digest[:19]}",
                where="image.mounts",
            )
