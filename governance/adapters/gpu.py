"""What this host says about its GPUs: NVML through ctypes, `nvidia-smi`, `nvcc`, the kernel's own files.

- NVML is asked directly (`libnvidia-ml.so.1`): no package is needed and it answers in milliseconds.
- Nothing is judged: numbers and bytes go to `fingerprint/gpu.py`.
- "No GPU" and "a GPU that cannot be asked" differ: `signs_of_gpu` looks at devices, not at tools. A GPU that
  is on the bus of the machine and not given to this process (a container without it) is no GPU of this
  process.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from governance.values import Unknown

TOOL_SECONDS: Final = 20
NVML_LIBRARIES: Final = ("libnvidia-ml.so.1", "libnvidia-ml.so")
NVIDIA_VENDOR: Final = "0x10de"
AMD_VENDOR: Final = "0x1002"
DISPLAY_CLASS: Final = "0x03"
ACCELERATOR_CLASS: Final = "0x12"
_NOT_SUPPORTED: Final = 3


@dataclass(frozen=True, slots=True)
class NvmlSlice:
    """One MIG device: its multiprocessors and its memory in MiB."""

    multiprocessors: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class NvmlDevice:
    """One GPU as NVML reports it; `capability` is (major, minor), `mig` is `None` where there is no MIG."""

    name: str
    uuid: str
    memory_bytes: int
    capability: tuple[int, int]
    mig: tuple[NvmlSlice, ...] | None


@dataclass(frozen=True, slots=True)
class Nvml:
    """The answers of NVML; `cuda` is the driver's capability as 1000 x major + 10 x minor."""

    driver: str
    cuda: int
    devices: tuple[NvmlDevice, ...]


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("multiprocessors", ctypes.c_uint),
        ("copy_engines", ctypes.c_uint),
        ("decoders", ctypes.c_uint),
        ("encoders", ctypes.c_uint),
        ("jpegs", ctypes.c_uint),
        ("ofas", ctypes.c_uint),
        ("gpu_instance_slices", ctypes.c_uint),
        ("compute_instance_slices", ctypes.c_uint),
        ("memory_mib", ctypes.c_ulonglong),
    )


class _NvmlError(Exception):
    def __init__(self, call: str, code: int) -> None:
        super().__init__(f"{call} answered {code}")
        self.code = code


def signs_of_gpu(root: Path = Path("/")) -> dict[str, str]:
    """The kinds of GPU (`nvidia`, `amd`) and how they show: `device` when a process here can open one,
    `bus` when there is one that was not given to us (no driver, or a container without it). `root` is
    for tests.
    """
    found: dict[str, str] = {}
    for device in sorted((root / "sys/bus/pci/devices").glob("*")):
        kind = _word(device / "class")
        vendor = {NVIDIA_VENDOR: "nvidia", AMD_VENDOR: "amd"}.get(_word(device / "vendor"))
        if vendor == "nvidia" and kind.startswith((DISPLAY_CLASS, ACCELERATOR_CLASS)):
            found["nvidia"] = "bus"
        elif vendor == "amd" and kind.startswith(ACCELERATOR_CLASS):
            found["amd"] = "bus"
    if any((root / "dev").glob("nvidia[0-9]*")):
        found["nvidia"] = "device"
    if (root / "dev/kfd").exists():
        found["amd"] = "device"
    return found


def _word(path: Path) -> str:
    try:
        return path.read_text("ascii").strip().lower()
    except (OSError, UnicodeDecodeError):
        return ""


def nvml(libraries: Sequence[str] = NVML_LIBRARIES) -> Nvml | Unknown:
    """What NVML says, or why it says nothing (no library, no driver, no permission)."""
    library = _load(libraries)
    if isinstance(library, Unknown):
        return library
    try:
        _call(library, "nvmlInit_v2")
    except _NvmlError as err:
        return Unknown(f"NVML does not start: {err}")
    try:
        return _ask(library)
    except _NvmlError as err:
        return Unknown(f"NVML: {err}")
    finally:
        library.nvmlShutdown()


def _load(libraries: Sequence[str]) -> Any | Unknown:
    for name in libraries:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return Unknown("the NVML library is not installed")


def _call(library: Any, name: str, *arguments: object) -> None:
    try:
        function = getattr(library, name)
    except AttributeError as err:
        raise _NvmlError(name, _NOT_SUPPORTED) from err
    code = int(function(*arguments))
    if code:
        raise _NvmlError(name, code)


def _text(library: Any, name: str, *arguments: object) -> str:
    buffer = ctypes.create_string_buffer(96)
    _call(library, name, *arguments, buffer, ctypes.c_uint(len(buffer)))
    return buffer.value.decode("utf-8", "replace")


def _ask(library: Any) -> Nvml:
    cuda, count = ctypes.c_int(), ctypes.c_uint()
    _call(library, "nvmlSystemGetCudaDriverVersion_v2", ctypes.byref(cuda))
    _call(library, "nvmlDeviceGetCount_v2", ctypes.byref(count))
    driver = _text(library, "nvmlSystemGetDriverVersion")
    return Nvml(driver, cuda.value, tuple(_device(library, index) for index in range(count.value)))


def _device(library: Any, index: int) -> NvmlDevice:
    handle, memory = ctypes.c_void_p(), _Memory()
    major, minor = ctypes.c_int(), ctypes.c_int()
    _call(library, "nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
    _call(library, "nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
    _call(library, "nvmlDeviceGetCudaComputeCapability", handle, ctypes.byref(major), ctypes.byref(minor))
    return NvmlDevice(
        name=_text(library, "nvmlDeviceGetName", handle),
        uuid=_text(library, "nvmlDeviceGetUUID", handle),
        memory_bytes=memory.total,
        capability=(major.value, minor.value),
        mig=_mig(library, handle),
    )


def _mig(library: Any, handle: ctypes.c_void_p) -> tuple[NvmlSlice, ...] | None:
    current, pending, count = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
    try:
        _call(library, "nvmlDeviceGetMigMode", handle, ctypes.byref(current), ctypes.byref(pending))
        if not current.value:
            return None
        _call(library, "nvmlDeviceGetMaxMigDeviceCount", handle, ctypes.byref(count))
    except _NvmlError as err:
        if err.code == _NOT_SUPPORTED:
            return None
        raise
    slices = (_slice(library, handle, index) for index in range(count.value))
    return tuple(found for found in slices if found is not None)


def _slice(library: Any, handle: ctypes.c_void_p, index: int) -> NvmlSlice | None:
    part, attributes = ctypes.c_void_p(), _Attributes()
    try:
        _call(
            library, "nvmlDeviceGetMigDeviceHandleByIndex", handle, ctypes.c_uint(index), ctypes.byref(part)
        )
    except _NvmlError:
        return None
    _call(library, "nvmlDeviceGetAttributes_v2", part, ctypes.byref(attributes))
    return NvmlSlice(attributes.multiprocessors, attributes.memory_mib)


def run_tool(*command: str) -> bytes | Unknown:
    """The output of a tool such as `nvidia-smi -q -x`, or why there is none."""
    import subprocess

    try:
        done = subprocess.run(command, capture_output=True, timeout=TOOL_SECONDS, check=False)
    except FileNotFoundError:
        return Unknown(f"`{command[0]}` is not installed")
    except (OSError, subprocess.TimeoutExpired) as err:
        return Unknown(f"`{command[0]}` does not answer: {type(err).__name__}")
    if done.returncode:
        text = (done.stdout or done.stderr).decode("utf-8", "replace").strip().splitlines()
        return Unknown(f"`{command[0]}` failed: {text[0] if text else f'exit {done.returncode}'}")
    return done.stdout


def kernel_driver(root: Path = Path("/")) -> bytes | Unknown:
    """The bytes of `/proc/driver/nvidia/version`, which needs no tool and no permission."""
    path = root / "proc/driver/nvidia/version"
    try:
        return path.read_bytes()
    except OSError as err:
        return Unknown(f"`{path}`: {err.strerror}")
