"""Which weights and which chat template a server really runs, beside what the configs name.

- Weights are hashed where the server runs on this host and names its file; the digest the base config
  declares decides, in the algorithm it declares.
- A chat template is compared by its bytes, where the prompts config names a file; `model` means the template
  of the weights, so then the weights decide.
- What cannot be looked at is said, never counted as equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from governance.adapters.processes import Program
from governance.engines.keys import look
from governance.engines.observe import Observation
from governance.fingerprint.changes import Showing, content_changes
from governance.tiers.config import Config, Service
from governance.values import ABSENT, Unknown
from governance.verdict import Change, LayerState

HashFile = Callable[[str, str], "str | Unknown"]
"""`(path, algorithm)` to the hex digest of a file of this host, or why there is none."""

ALGORITHMS: Final = ("sha256", "blake3")


@dataclass(frozen=True, slots=True)
class Identity:
    """What was seen of a server beside its values; an empty layer list means nothing could be compared."""

    layers: list[LayerState] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def identity_of(service: Service, seen: Observation, hash_file: HashFile, showing: Showing) -> Identity:
    """The weights and the chat template of the server of `seen` beside those of `service`."""
    found = Identity()
    if service.base is not None:
        _weights(found, service.base, seen, hash_file)
    if service.prompts is not None:
        _template(found, service.prompts, seen, showing)
    return found


def _weights(found: Identity, base: Config, seen: Observation, hash_file: HashFile) -> None:
    files = look(base.tree, "model.weights.files")
    shown = seen.identity.get("weights")
    if not isinstance(files, Mapping) or shown is None or not isinstance(shown.value, str):
        return
    name = PurePosixPath(shown.value.replace("\\", "/")).name
    declared = files.get(name)
    if declared is None and len(files) == 1:
        declared = next(iter(files.values()))
    if not isinstance(declared, str):
        found.notes.append(f"weights: the server runs `{name}`, which the base config does not list")
        return
    if not isinstance(seen.process, Program):
        found.notes.append("weights: the server is not a process of this host, so its files are not hashed")
        return
    algorithm, _, digits = declared.partition(":")
    actual = (
        hash_file(shown.value, algorithm) if algorithm in ALGORITHMS else Unknown(f"no `{algorithm}` here")
    )
    if isinstance(actual, Unknown):
        found.notes.append(f"weights: `{name}` could not be hashed: {actual.reason}")
        return
    state = "same" if actual == digits else "changed"
    found.layers.append(LayerState("weights", state, digits, actual, f"{name} ({algorithm})"))
    if state == "changed":
        found.changes.append(
            Change("weights", name, declared, f"{algorithm}:{actual}", "config", f"hashed; {shown.source}",
                   effect="other weights give other answers", path=base.path)
        )  # fmt: skip


def _template(found: Identity, prompts: Config, seen: Observation, showing: Showing) -> None:
    name = look(prompts.tree, "chat_template.file")
    shown = seen.identity.get("chat_template")
    if name is ABSENT or shown is None or not isinstance(name, str) or not isinstance(shown.value, str):
        return
    declared, actual = prompts.file(name), shown.value.encode()
    if declared != actual:
        path = f"{prompts.id.folder}{name}"
        found.changes.append(
            Change("prompts", "chat_template", _size(declared), _size(actual), "config", shown.source,
                   effect="the text that roles and messages become", path=path,
                   text=content_changes(declared, actual, path, showing))
        )  # fmt: skip


def _size(data: bytes) -> str:
    return f"{len(data)} bytes"
