"""Gather one observed layer each: what the adapters read, judged by the pure modules.

- `found` takes what is noticed on the way.
- Adapters are imported where used: a capture of packages starts no HTTP client.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from governance.errors import MissingTool, Unreachable
from governance.values import Json, Unknown

if TYPE_CHECKING:
    from governance.adapters.gpu import Nvml
    from governance.adapters.packages import Interpreter
    from governance.adapters.platform_facts import Host
    from governance.adapters.weights import Algorithm, File
    from governance.fingerprint.gpu import Gpus
    from governance.fingerprint.image import Image, Mount, Reference
    from governance.fingerprint.packages import Packages
    from governance.fingerprint.platform import Platform
    from governance.fingerprint.wanted import Progress, Wanted
    from governance.fingerprint.weights import Weights
    from governance.verdict import Finding

DAMAGE: Final = frozenset({"TL960", "TL963", "TL964", "TL965"})
"""Findings after which what is loaded is not what was named."""


def packages(wanted: Wanted, found: list[Finding]) -> Packages | Unknown:
    """The packages of the wanted interpreter or list. Raises `Unreadable` when what was named is missing."""
    from governance.fingerprint.packages import from_distributions

    if wanted.package_list is not None:
        from governance.fingerprint.lockfiles import from_lock

        name, data = wanted.package_list
        listed = from_lock(data, name)
        found += listed.findings
        return listed
    from governance.adapters.packages import conda_records, distributions

    interpreter = _interpreter(wanted)
    if isinstance(interpreter, Unknown):
        return _native(wanted, interpreter)
    installed = from_distributions(
        distributions(interpreter.path), conda_records(interpreter.prefix), interpreter.prefix
    )
    found += installed.findings
    return installed


def _native(wanted: Wanted, why: Unknown) -> Packages | Unknown:
    """The program and the shared libraries a server that is not Python has loaded, or would load, each by its
    bytes.
    """
    from governance.fingerprint.packages import from_program

    if wanted.pid is not None:
        from governance.adapters.platform_facts import loaded_files

        files = loaded_files(wanted.pid)
    elif wanted.program is not None:
        from governance.adapters.loader import linked
        from governance.adapters.platform_facts import environment

        given = environment() if wanted.environment is None else wanted.environment
        files = linked(wanted.program, given)
    else:
        return why
    if isinstance(files, Unknown):
        return files
    hashed = _remembered(files, ("blake3",), wanted.cache)
    return from_program({file.name: hashed[file.name]["blake3"] for file in files})


def _remembered(
    files: Sequence[File], algorithms: tuple[Algorithm, ...], folder: Path | None
) -> dict[str, dict[str, str]]:
    from governance.adapters.digest_cache import DigestCache
    from governance.adapters.weights import digests

    if folder is None:
        return digests(files, algorithms)
    with DigestCache(folder) as cache:
        return digests(files, algorithms, cache=cache)


def _interpreter(wanted: Wanted) -> Interpreter | Unknown:
    from governance.adapters import packages as adapter

    try:
        if wanted.python is not None:
            return adapter.interpreter(wanted.python)
        if wanted.pid is not None:
            from governance.adapters.platform_facts import interpreter_of, root_of

            python = interpreter_of(wanted.pid)
            if isinstance(python, Unknown):
                return python
            inside = root_of(wanted.pid)
            if inside is not None:  # another file system: what runs there does not run here
                return adapter.interpreter_by_layout(f"{inside}{python}")
            return adapter.interpreter(python)
        if wanted.program is not None:
            return Unknown(f"`{wanted.program.name}` is no Python program")
        return adapter.this_interpreter()
    except MissingTool as err:
        return Unknown(err.message)


def platform(wanted: Wanted, listed: Packages | Unknown, found: list[Finding]) -> Platform | Unknown:
    """The facts of this host, or of the host of the wanted process."""
    from governance.adapters import platform_facts
    from governance.adapters.packages import module_file
    from governance.fingerprint import platform as pure

    interpreter = _interpreter(wanted)
    inside = None if wanted.pid is None else platform_facts.root_of(wanted.pid)
    host = platform_facts.host(inside or Path("/"))
    environment = platform_facts.environment(wanted.pid) if wanted.environment is None else wanted.environment
    entered, evidence = pure.choose_variables(environment)
    os_packages = None if host.dpkg_status is None else pure.dpkg_packages(host.dpkg_status)
    known = None if isinstance(listed, Unknown) else listed
    build = None if isinstance(interpreter, Unknown) else module_file(interpreter.path, "torch/version.py")
    gpus = _gpus(environment)
    result = pure.Platform(
        interpreter=_interpreter_facts(interpreter, host.machine),
        gpus=gpus,
        framework=pure.framework_of(known, build, os_packages or {}),
        cpu=pure.cpu_features(host.cpu_info or b""),
        os_packages=os_packages,
        variables=entered,
        evidence={**_evidence(host, interpreter, gpus), **evidence},
    )
    found += pure.contradictions(result, known)
    return result


def _interpreter_facts(interpreter: Interpreter | Unknown, machine: str) -> dict[str, str]:
    if isinstance(interpreter, Unknown):
        return {"machine": machine}
    facts = {
        "version": interpreter.version,
        "implementation": interpreter.implementation,
        "libc": interpreter.libc,
        "machine": interpreter.machine or machine,
    }
    return {name: value for name, value in facts.items() if value}


def _evidence(host: Host, interpreter: Interpreter | Unknown, gpus: Gpus | Unknown) -> dict[str, Json]:
    from governance.adapters.gpu import run_tool
    from governance.fingerprint import platform as pure
    from governance.fingerprint.gpu import toolkit_of

    nvcc = run_tool("nvcc", "--version")
    facts: dict[str, Json] = {
        "kernel": host.kernel,
        "os": pure.os_release(host.os_release or b""),
        "cpu model": pure.cpu_model(host.cpu_info or b""),
        "toolkit": "" if isinstance(nvcc, Unknown) else toolkit_of(nvcc),
        "interpreter found": "" if isinstance(interpreter, Unknown) else interpreter.found,
        "gpu source": "" if isinstance(gpus, Unknown) else gpus.source,
    }
    return {name: value for name, value in facts.items() if value}


def _gpus(environment: Mapping[str, str]) -> Gpus | Unknown:
    from governance.adapters import gpu as adapter

    choice = environment.get("CUDA_VISIBLE_DEVICES")
    return gpus_of(adapter.signs_of_gpu(), adapter.nvml, adapter.run_tool, choice)


def gpus_of(
    signs: Mapping[str, str],
    nvml: Callable[[], Nvml | Unknown],
    run: Callable[..., bytes | Unknown],
    choice: str | None,
) -> Gpus | Unknown:
    """The GPUs a process sees, by NVML, else by `nvidia-smi`; `choice` is what `CUDA_VISIBLE_DEVICES` leaves.

    `signs` tells which GPUs there are (`adapters.gpu.signs_of_gpu`): one that was given to us and that nobody
    can ask is `Unknown`; none is no GPU.
    """
    from governance.fingerprint import gpu as pure

    if signs.get("amd") == "device":
        return Unknown("an AMD GPU is there and this version reads NVIDIA only")
    answer = nvml()
    if not isinstance(answer, Unknown):
        return pure.visible(pure.from_nvml(answer), choice)
    if "device" not in signs.values():
        return pure.Gpus("", "", (), "a GPU on the bus only" if signs else "no GPU device")
    reasons = [answer.reason]
    ways = ((("nvidia-smi", "-q", "-x"), pure.from_smi_xml), (("nvidia-smi",), pure.from_smi_text))
    for command, parse in ways:
        output = run(*command)
        parsed = output if isinstance(output, Unknown) else parse(output)
        if not isinstance(parsed, Unknown):
            return pure.visible(parsed, choice)
        reasons.append(parsed.reason)
    return Unknown("a GPU is there and cannot be asked: " + "; ".join(dict.fromkeys(reasons)))


def image(wanted: Wanted, found: list[Finding]) -> Image | Unknown:
    """The wanted image by its registry or its inspect output. Raises `Usage` for a bad reference."""
    from governance.fingerprint import image as pure

    reference: Reference | None = None
    if wanted.inspect is not None:
        seen = pure.from_inspect(wanted.inspect, wanted.image)
        name = wanted.image or ("" if isinstance(seen, Unknown) else seen.reference)
        reference = pure.parse_reference(name) if name else None
    elif wanted.image:
        reference = pure.parse_reference(wanted.image)
        seen = _from_registry(reference, wanted)
    else:
        return Unknown("no image was named")
    if not isinstance(seen, Unknown) and wanted.mounts:
        seen = pure.with_mounts(seen, list(_mounts(wanted.mounts)))
    if reference is not None:
        found += pure.findings(reference, seen)
    return seen


def _from_registry(reference: Reference, wanted: Wanted) -> Image | Unknown:
    from governance.adapters.registry import Registry
    from governance.adapters.registry_login import credentials_for
    from governance.fingerprint.registry import look_up

    credentials = credentials_for(reference.host, reference.name)
    registry = Registry(reference.host, credentials=credentials, insecure=wanted.insecure)
    try:
        return look_up(reference, registry.manifest, wanted.image_platform or _own_platform())
    except Unreachable as err:
        return Unknown(err.message)


def _own_platform() -> str:
    from governance.adapters.platform_facts import machine
    from governance.fingerprint.image import platform_of_machine

    return platform_of_machine(machine())


def _mounts(mounts: Mapping[str, Path]) -> Iterable[Mount]:
    """What is laid over the image, each with one digest over its files."""
    from governance.adapters.weights import digests, list_files
    from governance.fingerprint.image import Mount
    from governance.tiers.canonical import digest

    for target, path in mounts.items():
        listing = list_files(path)
        hashed = digests(listing.files, ("sha256",))
        names: Json = {file.name: hashed[file.name]["sha256"] for file in listing.files}
        single = hashed[listing.files[0].name]["sha256"] if path.is_file() else ""
        yield Mount(target, single or f"sha256:{digest(names)}")


def weights(wanted: Wanted, found: list[Finding], progress: Progress | None) -> Weights | Unknown:
    """The wanted model files with their digests. Raises `Unreadable` when what was named is not there."""
    place = _weights_place(wanted)
    if isinstance(place, Unknown):
        return place
    from governance.adapters import hubs
    from governance.adapters.weights import list_files, read_range
    from governance.fingerprint import weights as pure
    from governance.fingerprint.model_files import excluded

    listing = list_files(place, skip=excluded)
    paths = {file.name: file.path for file in listing.files}
    sizes = [(file.name, file.size) for file in listing.files]
    facts, seen = pure.inspect(sizes, lambda name, start, length: read_range(paths[name], start, length))
    hashed = _digests(listing.files, wanted, progress)
    files = tuple(
        pure.WeightFile(f.name, f.size, hashed[f.name]["blake3"], hashed[f.name].get("sha256", ""))
        for f in listing.files
    )
    broken = [f"`{name}` is a link to nothing" for name in listing.broken]
    damage = [finding.message for finding in seen if finding.code in DAMAGE] + broken
    result = pure.Weights(
        files,
        wanted.model,
        hubs.commit_of(place),
        tuple(sorted((key, value) for key, value in facts.items() if value)),
        tuple(damage),
    )
    blobs = {f.name: f.target for f in listing.files if f.target} if wanted.hub_digests else {}
    found += [*seen, *pure.verify(wanted.declared, result), *pure.verify_hub(blobs, hashed)]
    return result


def _weights_place(wanted: Wanted) -> Path | Unknown:
    if wanted.weights is not None:
        return wanted.weights
    if not wanted.model:
        return Unknown("no folder of weights was named")
    if wanted.model.startswith(("/", "./", "~/")):
        local = Path(wanted.model).expanduser()
        return local if local.exists() else Unknown(f"`{wanted.model}` is not on this host")
    from governance.adapters import hubs

    snapshot = hubs.snapshot(hubs.cache_folder(), wanted.model, wanted.revision or "main")
    return snapshot if isinstance(snapshot, Unknown) else snapshot.folder


def _digests(files: Sequence[File], wanted: Wanted, progress: Progress | None) -> dict[str, dict[str, str]]:
    """BLAKE3 of every file; SHA-256 and git ids where a manifest or a hub speaks them."""
    from governance.adapters.digest_cache import DigestCache
    from governance.adapters.weights import digests

    groups: dict[tuple[Algorithm, ...], list[File]] = {}
    for file in files:
        groups.setdefault(_algorithms(file, wanted), []).append(file)
    total = sum(file.size for file in files)
    done = 0
    lock = threading.Lock()

    def advance(count: int) -> None:
        nonlocal done
        with lock:
            done += count
            if progress is not None:
                progress("weights", done, total)

    cache = DigestCache(wanted.cache) if wanted.cache is not None else None
    try:
        result: dict[str, dict[str, str]] = {}
        for algorithms, members in groups.items():
            result |= digests(members, algorithms, cache=cache, threads=wanted.threads, progress=advance)
        return result
    finally:
        if cache is not None:
            cache.close()


def _algorithms(file: File, wanted: Wanted) -> tuple[Algorithm, ...]:
    needed: list[Algorithm] = ["blake3"]
    declared = wanted.declared.get(file.name, "").partition(":")[0]
    if wanted.sha256 or declared == "sha256" or (wanted.hub_digests and len(file.target) == 64):
        needed.append("sha256")
    if wanted.hub_digests and len(file.target) == 40:
        needed.append("git")
    return tuple(needed)
