"""What a capture is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the layer, bytes done and bytes in all; from several threads."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where each layer is to be taken from. Nothing given: this interpreter, this host, no weights, no image.

    `python` is another interpreter or its environment's folder; `pid` a running server, whose interpreter and
    variables are taken. `package_list` is (name, bytes) of a freeze or lock file. `weights` is a folder or
    file; `declared` its manifest (name to `algorithm:hex`). `model` and `revision` name a model in the hub
    cache. `inspect` is the output of an inspect command, `mounts` what is laid over the image (target to
    local path). `engine` is the declared engine and its version, held against what is installed and what the
    image says. `cache` is the folder of the digest cache, `None` for none. `hub_digests` checks blobs against
    their names. `program` is a server that is about to be started and is no Python program: the libraries it
    would load are its packages. `environment` are the variables it will have, in place of our own.
    """

    python: Path | None = None
    pid: int | None = None
    package_list: tuple[str, bytes] | None = None
    weights: Path | None = None
    declared: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    revision: str = ""
    sha256: bool = False
    hub_digests: bool = False
    cache: Path | None = None
    threads: int | None = None
    image: str = ""
    image_platform: str = ""
    inspect: bytes | None = None
    mounts: Mapping[str, Path] = field(default_factory=dict)
    engine: tuple[str, str] = ("", "")
    insecure: bool = False
    program: Path | None = None
    environment: Mapping[str, str] | None = None
