"""This host as the world of a drill: its registry client, hashes, GPUs, hub and pip-audit.

- Adapters are imported where used: a drill of a program on this host starts no HTTP client.
- Digests of weights come from the cache where it knows the file; `progress` is told of bytes that are read.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from governance.adapters.audit import audit
from governance.errors import TierlockError
from governance.release.restorable.model import Images, Neighbours
from governance.values import Unknown

if TYPE_CHECKING:
    from governance.adapters.audit import Audited, Pin
    from governance.fingerprint.gpu import Gpus
    from governance.fingerprint.image import Reference

Progress = Callable[[int, int], None]


def this_host(
    *, cache: Path | None = None, progress: Progress | None = None, insecure: bool = False
) -> Neighbours:
    """The neighbours of a drill on this host. `insecure` lets a registry elsewhere be asked without TLS."""
    from governance.adapters.platform_facts import machine
    from governance.fingerprint.image import platform_of_machine

    return Neighbours(
        images=lambda reference: _registry(reference, insecure=insecure),
        audit=_audit,
        is_file=Path.is_file,
        hash_files=lambda wanted: hash_files(wanted, cache, progress),
        gpus=_gpus,
        cpu_info=_cpu_info,
        hub=_hub,
        platform=platform_of_machine(machine()),
    )


def _registry(reference: Reference, *, insecure: bool) -> Images:
    from governance.adapters.registry import Registry
    from governance.adapters.registry_login import credentials_for

    credentials = credentials_for(reference.host, reference.name)
    return Registry(reference.host, credentials=credentials, insecure=insecure)


def _audit(pins: Sequence[Pin], service: str, url: str) -> tuple[Audited, ...] | Unknown:
    return audit(pins, service=service, url=url)


def hash_files(
    wanted: Sequence[tuple[Path, str]], cache: Path | None, progress: Progress | None = None
) -> list[str | Unknown]:
    """The hex digest of each file by its algorithm, or why there is none; from `cache` where it knows it."""
    from governance.adapters.digest_cache import DigestCache
    from governance.adapters.weights import digests, list_files

    total = sum(path.stat().st_size for path, _ in wanted if path.is_file())
    done, lock = 0, threading.Lock()

    def advance(count: int) -> None:
        nonlocal done
        with lock:
            done += count
            if progress is not None:
                progress(done, total)

    known = DigestCache(cache) if cache is not None else None
    found: list[str | Unknown] = []
    try:
        for path, algorithm in wanted:
            try:
                (file,) = list_files(path).files
                kind = ("sha256" if algorithm == "sha256" else "blake3",)
                hashed = digests([file], kind, cache=known, progress=advance)  # type: ignore[arg-type]
                found.append(hashed[file.name][kind[0]].rpartition(":")[2])
            except (TierlockError, ValueError) as err:
                found.append(Unknown(str(err)))
    finally:
        if known is not None:
            known.close()
    return found


def _gpus() -> Gpus | Unknown:
    from governance.adapters import gpu
    from governance.adapters.platform_facts import environment
    from governance.fingerprint.gather import gpus_of

    return gpus_of(gpu.signs_of_gpu(), gpu.nvml, gpu.run_tool, environment().get("CUDA_VISIBLE_DEVICES"))


def _cpu_info() -> bytes:
    from governance.adapters.platform_facts import host

    return host().cpu_info or b""


def _hub(model: str, revision: str) -> str | Unknown:
    from governance.adapters import hubs

    hub = os.environ.get("HF_ENDPOINT") or hubs.PUBLIC_HUB
    return hubs.resolve(model, revision, hub=hub, token=os.environ.get("HF_TOKEN", ""))
