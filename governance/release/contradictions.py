"""Where a captured host is not what the base config declares: weights, engine, image.

- Only what both name is held against each other; what the config leaves open contradicts nothing.
- A file that is declared and was not captured contradicts: something else would be loaded.
- Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from governance.engines.keys import look
from governance.fingerprint.capture import ENGINE_PACKAGES
from governance.fingerprint.image import Image
from governance.fingerprint.packages import Packages
from governance.fingerprint.record import Capture
from governance.fingerprint.versions import normal_version
from governance.fingerprint.weights import Weights
from governance.tiers.config import Service
from governance.values import Tree
from governance.verdict import Finding

CODE: Final = "TL602"


def contradictions(service: Service, capture: Capture) -> tuple[Finding, ...]:
    """One finding for each thing that `capture` has otherwise than the base config of `service`."""
    if service.base is None:
        return ()
    found = [(key, message) for key, message in _all(service.base.tree, capture)]
    return tuple(Finding(CODE, message, path=service.base.path, key=key) for key, message in found)


def _all(tree: Tree, capture: Capture) -> Iterator[tuple[str, str]]:
    if isinstance(capture.weights, Weights):
        yield from _weights(tree, capture.weights)
    if isinstance(capture.packages, Packages):
        yield from _engine(tree, capture.packages)
    if isinstance(capture.image, Image):
        yield from _image(tree, capture.image)


def _weights(tree: Tree, weights: Weights) -> Iterator[tuple[str, str]]:
    key = "model.weights.files"
    declared = look(tree, key)
    if not isinstance(declared, Mapping) or not weights.files:
        return
    by_name = {_last(file.name): file for file in weights.files}
    for name, wanted in declared.items():
        file = by_name.get(_last(str(name)))
        actual = "" if file is None else file.digest(str(wanted).partition(":")[0])
        if file is None:
            yield key, f"`{name}` is declared and is not among the captured weights"
        elif actual and actual != wanted:
            yield key, f"`{name}` is declared {_brief(str(wanted))} and was captured as {_brief(actual)}"


def _engine(tree: Tree, packages: Packages) -> Iterator[tuple[str, str]]:
    name, declared = look(tree, "engine.name"), look(tree, "engine.version")
    found = [packages.get(each) for each in ENGINE_PACKAGES.get(str(name), ())]
    installed = next((one.version for one in found if one is not None and one.version), "")
    if installed and isinstance(declared, str) and normal_version(installed) != normal_version(declared):
        yield "engine.version", f"{name} is declared {declared} and was captured as {installed}"


def _image(tree: Tree, image: Image) -> Iterator[tuple[str, str]]:
    declared = look(tree, "image.ref")
    digest = declared.partition("@")[2] if isinstance(declared, str) else ""
    seen = [one for one in (image.manifest, image.index, *image.reported) if one]
    if digest and seen and not any(one.rpartition("@")[2] == digest for one in seen):
        yield "image.ref", f"the image is declared {_brief(digest)} and was captured as {_brief(seen[0])}"


def _last(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]


def _brief(digest: str) -> str:
    algorithm, _, digits = digest.rpartition("@")[2].partition(":")
    return f"{algorithm}:{digits[:12]}"
