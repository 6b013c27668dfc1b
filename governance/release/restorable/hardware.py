"""Whether this host is of the class of hardware that the base config was accepted on.

- Model, number, memory, compute capability, MIG and driver of the accelerators, and the features of the
  processor. A larger number and a larger memory are enough; another model is not.
- A GPU that cannot be asked is undecided, and so is a class that another host has to have.
- What the runtime libraries are (CUDA, cuDNN, NCCL) belongs to packages and image, and is not looked at here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from governance.engines.keys import look
from governance.fingerprint.platform import cpu_model
from governance.release.advisories import in_range
from governance.release.restorable.model import HERE, Neighbours, Subject
from governance.values import Tree, Unknown
from governance.verdict import Check, Outcome

if TYPE_CHECKING:
    from governance.fingerprint.gpu import Gpu, Gpus

NAME: Final = "hardware"
USABLE: Final = 0.9
"""A card sold with 48 GB reports 45 GiB: what the driver keeps for itself is no other class."""
_ACCELERATED: Final = ("gpu", "count", "memory_gib", "compute_capability", "mig", "driver")
_WORD: Final = re.compile(r"[a-z0-9.]+")
_MIG: Final = re.compile(r"\d+(?:c\.\d+)?g\.(\d+)gb(?:\+me)?")


def check_hardware(subject: Subject, world: Neighbours) -> Check:
    """The check `hardware` of one release."""
    wanted = _declared(subject.base)
    if _asks(wanted) and subject.driver not in HERE:
        told = f"{_asked(wanted)} is asked for; where {subject.driver} starts it is not seen from here"
        return Check(NAME, Outcome.UNDECIDED, told)
    return hardware_here(subject.base, gpus=world.gpus, cpu_info=world.cpu_info)


def hardware_here(base: Tree, *, gpus: Callable[[], Gpus | Unknown], cpu_info: Callable[[], bytes]) -> Check:
    """The check `hardware` of a base config against this host, whoever starts the server on it."""
    wanted = _declared(base)
    if not _asks(wanted):
        return Check(NAME, Outcome.PASS, "any: " + _any(wanted))
    wrong = [*_processor(wanted, cpu_info())]
    if _accelerated(wanted):
        found = gpus()
        if isinstance(found, Unknown):
            return Check(NAME, Outcome.UNDECIDED, found.reason)
        if str(wanted.get("device", "cuda")) not in ("cuda", "vulkan"):
            told = f"accelerators of the kind {wanted['device']} are not looked at by this version"
            return Check(NAME, Outcome.UNDECIDED, told)
        wrong += _accelerators(wanted, found)
    if wrong:
        return Check(NAME, Outcome.BLOCK, "; ".join(wrong))
    return Check(NAME, Outcome.PASS, f"{_asked(wanted)} is here")


def _declared(base: Tree) -> Tree:
    found = look(base, "hardware")
    return found if isinstance(found, Mapping) else {}


def _asks(wanted: Tree) -> bool:
    """Whether the base config asks for a class at all."""
    return _accelerated(wanted) or bool(wanted.keys() & {"cpu", "cpu_features"})


def _accelerated(wanted: Mapping[str, object]) -> bool:
    device = wanted.get("device")
    return device not in (None, "cpu") or any(key in wanted for key in _ACCELERATED)


def _any(wanted: Mapping[str, object]) -> str:
    return "a processor is enough" if wanted.get("device") == "cpu" else "the base config asks for no class"


def _asked(wanted: Mapping[str, object]) -> str:
    """The class in words: `2 x NVIDIA L40S`."""
    number = f"{wanted['count']} x " if "count" in wanted else ""
    if "gpu" in wanted:
        return f"{number}{wanted['gpu']}"
    if "cpu" in wanted or "cpu_features" in wanted:
        return str(wanted.get("cpu") or "a processor with the features named")
    return f"{number}{wanted.get('device', 'accelerator')}"


def _processor(wanted: Tree, cpu_info: bytes) -> Iterator[str]:
    model, named = cpu_model(cpu_info), wanted.get("cpu")
    if isinstance(named, str) and not _words(named) <= _words(model):
        yield f"cpu: {named} is asked for, here is {model or 'one without a name'}"
    features = wanted.get("cpu_features")
    if isinstance(features, list | tuple):
        have = _flags(cpu_info)
        missing = sorted(str(one) for one in features if str(one) not in have)
        if missing:
            yield f"cpu_features: {', '.join(missing)} not here"


def _flags(cpu_info: bytes) -> set[str]:
    for line in cpu_info.decode("utf-8", "replace").splitlines():
        key, _, rest = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return set(rest.split())
    return set()


def _accelerators(wanted: Tree, gpus: Gpus) -> Iterator[str]:
    count = wanted.get("count", 1)
    if not gpus.gpus:
        yield f"{_asked(wanted)} is asked for, here is no GPU ({gpus.source})"
        return
    fitting = [gpu for gpu in gpus.gpus if not list(_other(wanted, gpu))]
    if isinstance(count, int) and len(fitting) < count:
        reasons = "; ".join(dict.fromkeys(why for gpu in gpus.gpus for why in _other(wanted, gpu)))
        yield f"{count} asked for, {len(fitting)} here" + (f": {reasons}" if reasons else "")
    driver = wanted.get("driver")
    if isinstance(driver, str):
        inside = in_range(gpus.driver, driver)
        if isinstance(inside, Unknown) or not inside:
            yield f"driver: {driver} is asked for, here is {gpus.driver or 'none'}"


def _other(wanted: Tree, gpu: Gpu) -> Iterator[str]:
    """Why a GPU is not of the class."""
    name, memory, capability = (wanted.get(key) for key in ("gpu", "memory_gib", "compute_capability"))
    if isinstance(name, str) and not _words(name) <= _words(gpu.name):
        yield f"gpu: {name} is asked for, here is {gpu.name}"
    if isinstance(memory, int | float) and gpu.memory_mib / 1024 < USABLE * memory:
        yield f"memory: {memory:g} GiB are asked for, here are {gpu.memory_mib / 1024:.0f}"
    if isinstance(capability, str) and gpu.capability != capability:
        yield f"compute capability: {capability} is asked for, here is {gpu.capability or 'one not known'}"
    mig = wanted.get("mig")
    if isinstance(mig, str) and not _has_slice(gpu, mig):
        yield f"mig: {mig} is asked for, here is {'another' if gpu.mig else 'no'} slice"


def _has_slice(gpu: Gpu, profile: str) -> bool:
    """Whether a slice has the memory that the profile names; the driver keeps a part of it."""
    found = _MIG.fullmatch(profile)
    size = int(found[1]) * 1024 if found else 0
    return any(USABLE * size <= one.memory_mib <= 1.1 * size for one in gpu.mig or ())


def _words(name: str) -> set[str]:
    return set(_WORD.findall(name.lower())) - {"nvidia"}
