"""What a container runs: the program of the image with the arguments of the launch.

- The program is always said, so the entrypoint of the image counts for nothing that the repository does not
  see: the one of `image.entrypoint`, else the program of the launch (`deploy.binary` stands in for it).
- Packages that are installed at start are refused: they are others every day.
"""

from __future__ import annotations

from typing import Final

from governance.engines.keys import look
from governance.errors import Usage
from governance.release.deploy.model import Target
from governance.values import ABSENT

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
