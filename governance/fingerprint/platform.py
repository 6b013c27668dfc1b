"""The platform layer: interpreter, C library, driver, CUDA libraries, GPUs, OS packages, variables.

- The layer is made of parts, each with its own digest, so a diff says "driver" and not "platform".
- A GPU that is there and cannot be asked makes the layer unknown; a host without one says `none`.
- Variables are classified by name (`tiers/rules/variables.py`). Those that shape answers enter with their
  value, secrets only as names in the evidence, the rest not at all.
- Evidence is kept beside the digest and never in it: kernel, distribution, CPU model, `nvcc`, sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from governance.fingerprint.affecting import OS_OUTPUT, why_affecting
from governance.fingerprint.gpu import Gpu, Gpus, Slice
from governance.fingerprint.gpu import layer_value as gpu_value
from governance.fingerprint.notices import notice
from governance.fingerprint.versions import local_label
from governance.values import Json, Tree, Unknown

if TYPE_CHECKING:
    from governance.fingerprint.packages import Packages
    from governance.verdict import Finding

PARTS: Final = ("interpreter", "driver", "gpu", "framework", "cpu", "os packages", "variables")
NOT_ENTERED: Final = frozenset({"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"})
"""Variables whose meaning is in the GPU part: which models they leave, not their numbers on this host."""

CPU_FLAGS: Final = (
    "avx", "avx2", "f16c", "fma", "avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16",
    "avx512_fp16", "avx_vnni", "amx_tile", "amx_int8", "amx_bf16", "asimd", "asimddp", "asimdhp", "sve",
    "sve2", "i8mm", "bf16", "sme",
)  # fmt: skip
"""CPU features that choose kernels."""

_TORCH: Final = re.compile(r"^(\w+)\s*(?::[^=]*)?=\s*(None|'[^']*'|\"[^\"]*\")", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Framework:
    """The CUDA the framework was built for, and its libraries; empty text where there is none."""

    torch: str = ""
    cuda: str = ""
    hip: str = ""
    cudnn: str = ""
    nccl: str = ""


@dataclass(frozen=True, slots=True)
class Platform:
    """One host. `gpus` is `Unknown` when a GPU is there and cannot be asked; `os_packages` is `None` when no
    package list was there; `variables` is `None` when no environment was looked at.
    """

    interpreter: Mapping[str, str]
    gpus: Gpus | Unknown
    framework: Framework = field(default_factory=Framework)
    cpu: tuple[str, ...] = ()
    os_packages: Mapping[str, str] | None = None
    variables: Mapping[str, str] | None = None
    evidence: Mapping[str, Json] = field(default_factory=dict)


def parts(platform: Platform) -> dict[str, Tree | Unknown]:
    """The value of each part; a part that was not looked at is not there."""
    result: dict[str, Tree | Unknown] = {"interpreter": dict(platform.interpreter)}
    gpus = platform.gpus
    if isinstance(gpus, Unknown):
        result["gpu"] = gpus
    else:
        result["gpu"] = gpu_value(gpus)
        if gpus.gpus:
            result["driver"] = {"version": gpus.driver, "cuda": gpus.driver_cuda}
        elif platform.cpu:
            result["cpu"] = {"features": list(platform.cpu)}
    framework = {k: v for k, v in _framework(platform.framework).items() if v}
    if framework:
        result["framework"] = framework
    if platform.os_packages is not None:
        result["os packages"] = dict(platform.os_packages)
    if platform.variables is not None:
        result["variables"] = dict(platform.variables)
    return {name: result[name] for name in PARTS if name in result}


def _framework(framework: Framework) -> dict[str, str]:
    return {
        "torch": framework.torch,
        "cuda": framework.cuda,
        "hip": framework.hip,
        "cudnn": framework.cudnn,
        "nccl": framework.nccl,
    }


def layer_value(platform: Platform) -> Tree | Unknown:
    """What the platform digest is taken from, or the `Unknown` of a part."""
    value: dict[str, Json] = {}
    for name, part in parts(platform).items():
        if isinstance(part, Unknown):
            return part
        value[name] = part
    return value


def cpu_features(cpu_info: bytes) -> tuple[str, ...]:
    """The features of the first processor in `/proc/cpuinfo` that choose kernels, in the order of the
    table.
    """
    for line in cpu_info.decode("utf-8", "replace").splitlines():
        key, _, rest = line.partition(":")
        if key.strip() in ("flags", "Features"):
            flags = set(rest.split())
            return tuple(flag for flag in CPU_FLAGS if flag in flags)
    return ()


def cpu_model(cpu_info: bytes) -> str:
    """The model name of the first processor."""
    match = re.search(rb"^model name\s*:\s*(.+)$", cpu_info, re.MULTILINE)
    return match[1].decode("utf-8", "replace").strip() if match else ""


def os_release(data: bytes) -> str:
    """`debian 12` from `/etc/os-release`."""
    pairs = (line.partition("=") for line in data.decode("utf-8", "replace").splitlines())
    values = {key: value.strip("\"'") for key, sign, value in pairs if sign}
    return f"{values.get('ID', '')} {values.get('VERSION_ID', '')}".strip()


def dpkg_packages(status: bytes) -> dict[str, str]:
    """Name and version of the installed packages that shape answers, from a dpkg status file or `dpkg -l`
    pairs.
    """
    found: dict[str, str] = {}
    for block in re.split(rb"\n\s*\n", status):
        fields = dict(re.findall(rb"^(Package|Version|Status): (.+)$", block, re.MULTILINE))
        if b"Package" in fields:
            if b"installed" in fields.get(b"Status", b"install ok installed").split():
                found[fields[b"Package"].decode()] = fields.get(b"Version", b"").decode()
        else:
            found.update(_name_version_lines(block))
    return {name: version for name, version in sorted(found.items()) if why_affecting(name, OS_OUTPUT)}


def _name_version_lines(block: bytes) -> Iterable[tuple[str, str]]:
    for line in block.decode("utf-8", "replace").splitlines():
        words = line.split()
        if len(words) == 2:
            yield words[0].partition(":")[0], words[1]


def torch_build(version_py: bytes) -> dict[str, str]:
    """`version`, `cuda` and `hip` from the bytes of `torch/version.py`; torch is not imported."""
    found = {key: value.strip("'\"") for key, value in _TORCH.findall(version_py.decode("utf-8", "replace"))}
    return {
        name: value
        for name, key in (("version", "__version__"), ("cuda", "cuda"), ("hip", "hip"))
        if (value := found.get(key, "")) and value != "None"
    }


def framework_of(
    packages: Packages | None, version_py: bytes | None, os_packages: Mapping[str, str]
) -> Framework:
    """The framework's CUDA from `torch/version.py`, cuDNN and NCCL from wheels, else conda, else the OS."""
    build = torch_build(version_py) if version_py is not None else {}
    return Framework(
        torch=build.get("version", ""),
        cuda=build.get("cuda", ""),
        hip=build.get("hip", ""),
        cudnn=_library("cudnn", packages, os_packages),
        nccl=_library("nccl", packages, os_packages),
    )


def _library(name: str, packages: Packages | None, os_packages: Mapping[str, str]) -> str:
    if packages is not None:
        wheels = (p.version for p in packages.packages if p.name.startswith(f"nvidia-{name}") and p.version)
        conda = (c.version for c in packages.conda if c.name == name)
        found = next(wheels, None) or next(conda, None)
        if found:
            return found
    return next((v for n, v in os_packages.items() if n.startswith((f"lib{name}", name))), "")


def choose_variables(environment: Mapping[str, str]) -> tuple[dict[str, str], dict[str, Json]]:
    """(variables that enter, evidence about the rest). The value of a secret is never looked at."""
    from governance.tiers.rules.variables import classify
    from governance.tiers.secrets import find_secrets

    entered: dict[str, str] = {}
    secret: list[str] = []
    unclassified: list[str] = []
    for name in sorted(environment):
        kind = classify(name)
        if kind == "secret" or (kind == "output" and find_secrets(environment[name])):
            secret.append(name)
        elif kind == "output" and name not in NOT_ENTERED:
            entered[name] = environment[name]
        elif kind == "unknown":
            unclassified.append(name)
    evidence: dict[str, Json] = {}
    if secret:
        evidence["secret variables"] = secret
    if unclassified:
        evidence["unclassified variables"] = unclassified
    return entered, evidence


def contradictions(platform: Platform, packages: Packages | None) -> tuple[Finding, ...]:
    """What the parts say against each other: a CPU build on a GPU host, a CUDA newer than the driver, a
    build that nothing tells; and what was not covered.
    """
    found: list[Finding] = []
    torch = packages.get("torch") if packages is not None else None
    version = (torch.version if torch is not None else None) or platform.framework.torch
    on_gpu = isinstance(platform.gpus, Unknown) or bool(platform.gpus.gpus)
    if version and on_gpu and _is_cpu_build(version, platform.framework):
        found.append(notice("TL954", f"torch {version} is a CPU build and this host has a GPU", key="torch"))
    elif torch is not None and version and not local_label(version) and not _build_known(platform.framework):
        found.append(notice("TL953", f"torch {version} has no build label", key="torch"))
    if not isinstance(platform.gpus, Unknown):
        found += _newer_cuda(platform.framework.cuda, platform.gpus.driver_cuda)
    if platform.os_packages is None:
        found.append(notice("TL980", "OS packages are not covered: there is no dpkg status"))
    secrets = platform.evidence.get("secret variables")
    if isinstance(secrets, list) and secrets:
        found.append(notice("TL981", "left out, by name: " + ", ".join(map(str, secrets))))
    return tuple(found)


def _is_cpu_build(version: str, framework: Framework) -> bool:
    label = local_label(version)
    return label.startswith("cpu") or (
        not label and bool(framework.torch) and not framework.cuda and not framework.hip
    )


def _build_known(framework: Framework) -> bool:
    return bool(framework.torch or framework.cuda or framework.hip)


def _newer_cuda(framework: str, driver: str) -> list[Finding]:
    if not framework or not driver or _numbers(framework) <= _numbers(driver):
        return []
    text = f"the framework was built for CUDA {framework}, the driver supports {driver}"
    return [notice("TL955", text, key="framework.cuda")]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def to_json(platform: Platform) -> Tree:
    """Everything a record keeps of this host; `from_json` reads it back."""
    gpus = platform.gpus
    value: dict[str, Json] = {
        "interpreter": dict(platform.interpreter),
        "framework": _framework(platform.framework),
        "cpu": list(platform.cpu),
        "os_packages": None if platform.os_packages is None else dict(platform.os_packages),
        "variables": None if platform.variables is None else dict(platform.variables),
        "evidence": dict(platform.evidence),
    }
    if isinstance(gpus, Unknown):
        value["gpus_unknown"] = gpus.reason
    else:
        value["gpus"] = {
            "driver": gpus.driver,
            "driver_cuda": gpus.driver_cuda,
            "source": gpus.source,
            "gpus": [_gpu_json(gpu) for gpu in gpus.gpus],
        }
    return value


def _gpu_json(gpu: Gpu) -> Tree:
    mig: Json = None if gpu.mig is None else [[s.multiprocessors, s.memory_mib] for s in gpu.mig]
    return {"name": gpu.name, "memory_mib": gpu.memory_mib, "capability": gpu.capability, "mig": mig}


def from_json(value: Tree) -> Platform:
    """The host that `to_json` wrote. Raises `KeyError`, `TypeError` or `ValueError` on anything else."""
    framework = _texts(value["framework"])
    reason = value.get("gpus_unknown")
    cpu, os_packages, variables = value["cpu"], value["os_packages"], value["variables"]
    if not isinstance(cpu, list):
        raise TypeError("`cpu` is not a list")
    return Platform(
        interpreter=_texts(value["interpreter"]),
        gpus=Unknown(str(reason)) if reason is not None else _gpus_from(_tree(value["gpus"])),
        framework=Framework(**{k: framework.get(k, "") for k in ("torch", "cuda", "hip", "cudnn", "nccl")}),
        cpu=tuple(map(str, cpu)),
        os_packages=None if os_packages is None else _texts(os_packages),
        variables=None if variables is None else _texts(variables),
        evidence=dict(_tree(value["evidence"])),
    )


def _gpus_from(value: Tree) -> Gpus:
    listed = value["gpus"]
    if not isinstance(listed, list):
        raise TypeError("`gpus` is not a list")
    gpus = tuple(_gpu_from(_tree(item)) for item in listed)
    return Gpus(str(value["driver"]), str(value["driver_cuda"]), gpus, str(value["source"]))


def _gpu_from(value: Tree) -> Gpu:
    memory, mig = value["memory_mib"], value["mig"]
    if not isinstance(memory, int) or not (mig is None or isinstance(mig, list)):
        raise TypeError("a GPU is not what it should be")
    slices = None if mig is None else tuple(_slice_from(item) for item in mig)
    return Gpu(str(value["name"]), memory, str(value["capability"]), mig=slices)


def _slice_from(value: Json) -> Slice:
    if not isinstance(value, list) or len(value) != 2:
        raise TypeError("a MIG slice is not what it should be")
    return Slice(int(str(value[0])), int(str(value[1])))


def _tree(value: Json) -> Tree:
    if not isinstance(value, Mapping):
        raise TypeError("a mapping was expected")
    return value


def _texts(value: Json) -> dict[str, str]:
    return {key: str(item) for key, item in _tree(value).items()}
