"""What a foreign file says about one service, before any engine's own option table has been asked.

- A `Service` is one server that a source describes: its image, arguments, environment, mounts, hardware.
- Readers of formats (`compose.py`, `kubernetes.py`, `helm.py`, …) yield services; `importing.py` turns each
  into tier files. A reader guesses nothing: what it does not find stays unset and is listed as left open.
- A secret never travels: a variable that looks like one is kept as a reference (`env:NAME`) only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from governance.engines.model import Imported, Open
from governance.values import Json


@dataclass(frozen=True, slots=True)
class Mount:
    """A host file or folder laid over the image's own content."""

    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Hardware:
    """What the source asks for; `gpu` is the model name where the source names one."""

    device: str = ""
    gpu: str = ""
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """One server of a source file.

    `name` becomes the name of the tier files; `engine` and `version` are set only where the source says them;
    `argv` starts with the program; `installs` are commands that install software at start; `known` carries
    tier values that the source states outside the launch (KServe's `storageUri`, a Modelfile's `SYSTEM`);
    `notes` are sentences for the person who imports.
    """

    name: str
    where: str
    engine: str = ""
    version: str = ""
    image: str = ""
    argv: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    hardware: Hardware = Hardware()
    installs: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    known: Imported = field(default_factory=Imported)
    files: dict[str, bytes] = field(default_factory=dict)
    left_open: tuple[Open, ...] = ()
    notes: tuple[str, ...] = ()


def as_mapping(value: Json | None) -> dict[str, Json]:
    """`value` if it is a mapping, else an empty one: foreign files leave out or misuse any key."""
    return dict(value) if isinstance(value, dict) else {}


def as_list(value: Json | None) -> list[Json]:
    """`value` if it is a list, else an empty one."""
    return list(value) if isinstance(value, list) else []


def as_text(value: Json | None) -> str:
    """`value` as the text a container would get: `true` for a boolean, digits for a number, empty else."""
    if value is None or isinstance(value, (dict, list)):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
