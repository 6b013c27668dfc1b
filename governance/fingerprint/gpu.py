"""GPUs and driver from whatever the host could say: NVML, `nvidia-smi -q -x`, `nvidia-smi`, the kernel.

- Four different things are called "CUDA version" and stay apart: the driver's own version, the CUDA the
  driver *supports* (the number in the header of `nvidia-smi`), the CUDA the framework was built for
  (`torch`), and the toolkit on the PATH (`nvcc`), which no serving process uses.
- A GPU is its model, its memory and its MIG slices. Serial numbers, addresses, temperature, power, clocks,
  load and memory in use are left out.
- A name that `nvidia-smi` cut short (`GeForce RTX 208...`) is unknown, not a name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from governance.errors import Unreadable
from governance.values import Json, Tree, Unknown

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from governance.adapters.gpu import Nvml

MIB: Final = 1024 * 1024

_DRIVER: Final = re.compile(r"(?:Driver|KMD) Version:\s*([0-9][0-9.]*)")
_CUDA: Final = re.compile(r"CUDA (?:UMD |Driver )?Version:\s*([0-9][0-9.]*)")
_ROW: Final = re.compile(r"^\|\s+(\d+)\s+(\S.*?)\s+(?:On|Off|N/A|WDDM|TCC|MCDM)\s*\|\s*[0-9A-Fa-f]{8}:")
_MEMORY: Final = re.compile(r"/\s*(\d+)\s*MiB")
_MIG_ON: Final = re.compile(r"\|\s+Enabled\s+\|\s*$")
_SLICE: Final = re.compile(r"^\|\s+\d+\s+\d+\s+\d+\s+\d+\s*\|\s*\d+\s*MiB\s*/\s*(\d+)\s*MiB\s*\|\s*(\d+)\s")
_KERNEL: Final = re.compile(r"Kernel Module(?: for \S+)?\s+([0-9][0-9.]+)")
_NVCC: Final = re.compile(r"release ([0-9.]+), V([0-9.]+)")


@dataclass(frozen=True, slots=True)
class Slice:
    """One MIG device."""

    multiprocessors: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. `capability` (`8.9`) and `uuid` are evidence; `mig` is `None` when MIG is off."""

    name: str
    memory_mib: int
    capability: str = ""
    uuid: str = ""
    mig: tuple[Slice, ...] | None = None


@dataclass(frozen=True, slots=True)
class Gpus:
    """All GPUs of a host and its driver. No GPU at all is `Gpus("", "", (), …)`, a known fact."""

    driver: str
    driver_cuda: str
    gpus: tuple[Gpu, ...]
    source: str


def from_nvml(nvml: Nvml) -> Gpus:
    """The GPUs that NVML lists."""
    gpus = tuple(
        Gpu(
            d.name,
            d.memory_bytes // MIB,
            f"{d.capability[0]}.{d.capability[1]}",
            d.uuid,
            None if d.mig is None else tuple(Slice(s.multiprocessors, s.memory_mib) for s in d.mig),
        )
        for d in nvml.devices
    )
    return Gpus(nvml.driver, f"{nvml.cuda // 1000}.{nvml.cuda % 1000 // 10}", gpus, "NVML")


def from_smi_text(data: bytes) -> Gpus | Unknown:
    """The GPUs in the table that `nvidia-smi` prints. Unknown when it is not such a table."""
    text = data.decode("utf-8", "replace")
    driver, cuda = _DRIVER.search(text), _CUDA.search(text)
    if driver is None:
        return Unknown("the output of nvidia-smi names no driver version")
    gpus: list[Gpu] = []
    lines = text.splitlines()
    slices = _slices(lines)
    for number, line in enumerate(lines):
        row = _ROW.match(line)
        if row is None:
            continue
        if row[2].endswith("..."):
            return Unknown(f"nvidia-smi cut the name of GPU {row[1]} short; `nvidia-smi -q -x` has it whole")
        memory = _MEMORY.search(lines[number + 1]) if number + 1 < len(lines) else None
        if memory is None:
            return Unknown(f"the output of nvidia-smi has no memory for GPU {row[1]}")
        on = any(_MIG_ON.search(below) for below in lines[number + 1 : number + 3])
        mig = tuple(slices.get(int(row[1]), ())) if on else None
        gpus.append(Gpu(row[2], int(memory[1]), mig=mig))
    return Gpus(driver[1], cuda[1] if cuda else "", tuple(gpus), "nvidia-smi")


def _slices(lines: Sequence[str]) -> Mapping[int, list[Slice]]:
    found: dict[int, list[Slice]] = {}
    for line in lines:
        match = _SLICE.match(line)
        if match is not None:
            index = int(line.split("|")[1].split()[0])
            found.setdefault(index, []).append(Slice(int(match[2]), int(match[1])))
    return found


def from_smi_xml(data: bytes) -> Gpus | Unknown:
    """The GPUs in the output of `nvidia-smi -q -x`. Unknown when it is not such a log."""
    from xml.etree import ElementTree

    if b"<!ENTITY" in data:
        return Unknown("the XML of nvidia-smi declares entities, which it never does")
    try:
        root = ElementTree.fromstring(data)  # noqa: S314  entities are refused above
    except ElementTree.ParseError as err:
        return Unknown(f"the output of nvidia-smi is no XML: {err}")
    driver = (root.findtext("driver_version") or "").strip()
    if root.tag != "nvidia_smi_log" or not driver:
        return Unknown("the XML is not a log of nvidia-smi")
    cuda = (root.findtext("cuda_version") or "").strip()
    try:
        gpus = tuple(_xml_gpu(element) for element in root.findall("gpu"))
    except Unreadable as err:
        return Unknown(err.message)
    return Gpus(driver, cuda if cuda[:1].isdigit() else "", gpus, "nvidia-smi -q -x")


def _xml_gpu(element: Element) -> Gpu:
    name = (element.findtext("product_name") or "").strip()
    memory = _mib(element.findtext("fb_memory_usage/total"))
    if not name or memory is None:
        raise Unreadable("the log of nvidia-smi has a GPU without a name or without memory")
    mig = None
    if (element.findtext("mig_mode/current_mig") or "").strip() == "Enabled":
        mig = tuple(_xml_slice(part) for part in element.findall("mig_devices/mig_device"))
    return Gpu(name, memory, uuid=(element.findtext("uuid") or "").strip(), mig=mig)


def _xml_slice(element: Element) -> Slice:
    count = element.findtext("device_attributes/shared/multiprocessor_count")
    memory = _mib(element.findtext("fb_memory_usage/total"))
    if count is None or memory is None:
        raise Unreadable("the log of nvidia-smi has a MIG device without its size")
    return Slice(int(count), memory)


def _mib(text: str | None) -> int | None:
    match = re.fullmatch(r"\s*(\d+)\s*MiB\s*", text or "")
    return int(match[1]) if match else None


def from_kernel(data: bytes) -> str | Unknown:
    """The driver version in `/proc/driver/nvidia/version`."""
    match = _KERNEL.search(data.decode("utf-8", "replace"))
    return match[1] if match else Unknown("/proc/driver/nvidia/version names no version")


def toolkit_of(nvcc: bytes) -> str:
    """The toolkit version that `nvcc --version` prints, `11.8`; empty when it prints none."""
    match = _NVCC.search(nvcc.decode("utf-8", "replace"))
    return match[1] if match else ""


def visible(gpus: Gpus, choice: str | None) -> Gpus | Unknown:
    """The GPUs that `CUDA_VISIBLE_DEVICES` (or `NVIDIA_VISIBLE_DEVICES`) leaves, in its order."""
    if choice is None or choice in ("all", "void") or not gpus.gpus:
        return gpus
    chosen: list[Gpu] = []
    for part in filter(None, (p.strip() for p in choice.split(","))):
        if part == "-1" or part == "none":
            break
        if part.isdigit() and int(part) < len(gpus.gpus):
            chosen.append(gpus.gpus[int(part)])
            continue
        match = [g for g in gpus.gpus if g.uuid and g.uuid.startswith(part)]
        if len(match) != 1:
            return Unknown(f"`{part}` in the visible devices names no GPU of this host")
        chosen.append(match[0])
    return Gpus(gpus.driver, gpus.driver_cuda, tuple(chosen), gpus.source)


def layer_value(gpus: Gpus) -> Tree:
    """The GPUs as they enter the platform digest: models in order, with memory and MIG slices."""
    return {"gpus": [_gpu_value(gpu) for gpu in gpus.gpus]} if gpus.gpus else {"gpus": "none"}


def _gpu_value(gpu: Gpu) -> Tree:
    value: dict[str, Json] = {"name": gpu.name, "memory_mib": gpu.memory_mib}
    if gpu.mig is not None:
        value["mig"] = sorted(f"{s.multiprocessors}sm {s.memory_mib}MiB" for s in gpu.mig)
    return value
