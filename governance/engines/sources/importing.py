"""Foreign descriptions of a service, turned into tier files and a list of what they leave open.

- Every source is recognised by its content, never by its name alone; one that describes no server is
  `undecided`, not skipped.
- What a source says goes into the tiers as it says it, mapped and never rounded; what it leaves open is
  listed with the reason and what to write, and is not filled in.
- A secret becomes a reference, a variable that only logs is dropped and named.
- Pure: bytes in, bytes and a report out. Writing is the caller's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from governance.engines import registry
from governance.engines.generation_config import SAMPLING_KEYS, read_generation_config
from governance.engines.keys import leaves, look, put
from governance.engines.model import Imported, Open
from governance.engines.sources import command, compose, detect, helm, kubernetes, modelfile, truss
from governance.engines.sources.model import Service, as_mapping
from governance.errors import TierlockError
from governance.tiers.reader import read_foreign_yaml, read_json
from governance.tiers.rules.variables import classify
from governance.tiers.secrets import find_secrets
from governance.tiers.writer import dump
from governance.values import ABSENT, Effect, Json, Unknown
from governance.verdict import Check, EffectiveValue, Finding, Outcome, Report, sort_findings

TIERS: Final = ("base", "sampling", "prompts")
# Decoding parameters that every chat service uses; each is left open when no source names it.
_WANTED_SAMPLING: Final = (
    "temperature",
    "top_p",
    "top_k",
    "repetition_penalty",
    "seed",
    "max_tokens",
    "stop",
)
_FLOATING: Final = "every request, the model's generation_config.json or the engine decides it"


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The files to write, by path in the repository, and what to tell the person."""

    files: Mapping[str, bytes]
    report: Report


@dataclass(frozen=True, slots=True)
class _Tiers:
    """One service as three trees, the files they refer to, and what is open."""

    name: str
    trees: dict[str, dict[str, Json]]
    files: dict[str, bytes]
    left_open: tuple[Open, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


def import_sources(sources: Mapping[str, bytes], *, name: str = "") -> ImportResult:
    """The tier files that `sources` (path -> bytes) describe; `name` names the one service they hold."""
    checks: list[Check] = []
    findings: list[Finding] = []
    found: list[Service] = []
    generation: dict[str, bytes] = {}
    for path, data in sources.items():
        services, faults = _read(path, data, generation)
        findings += faults
        found += services
        checks.append(_source_check(path, services, faults, path in generation))
    converted = [_convert(service, name if len(found) == 1 else "") for service in found]
    converted = _with_generation(converted, generation, name)
    files, taken = _files(converted)
    findings += [finding for tiers in converted for finding in tiers.findings]
    alone = len(converted) == 1
    values = [_open_value(tiers, item, alone=alone) for tiers in converted for item in tiers.left_open]
    notes = [f"{tiers.name}: {note}" for tiers in converted for note in tiers.notes]
    report = Report(
        command="import",
        title=f"{len(converted)} service{'s' * (len(converted) != 1)} from {', '.join(sources)}",
        checks=tuple(checks),
        findings=sort_findings(findings),
        values=tuple(values),
        notes=tuple(notes),
        summary=f"{len(files)} files, {len(values)} values left open",
        next="tierlock check" if taken else "",
    )
    return ImportResult(files, report)


def _source_check(path: str, services: list[Service], faults: list[Finding], generation: bool) -> Check:
    if generation:
        return Check(path, Outcome.PASS, "sampling defaults of a model")
    if services:
        kinds = ", ".join(f"{s.name} ({s.engine or 'engine unknown'})" for s in services)
        return Check(path, Outcome.PASS, kinds)
    if any(fault.blocks for fault in faults):
        return Check(path, Outcome.BLOCK, "cannot be read")
    return Check(path, Outcome.UNDECIDED, "describes no inference server that tierlock knows")


def _read(path: str, data: bytes, generation: dict[str, bytes]) -> tuple[list[Service], list[Finding]]:
    """The services in one source; a generation config is put into `generation` instead."""
    stem = _stem(path)
    text = data.decode("utf-8", "replace")
    if path.endswith(".json") or text.lstrip()[:1] == "{":
        reading = read_json(data, path)
        tree = as_mapping(reading.tree)
        if tree and set(tree) & {*SAMPLING_KEYS, "bos_token_id", "pad_token_id"}:
            generation[path] = data
            return [], list(reading.findings)
        return list(kubernetes.services([tree], path=path)), list(reading.findings)
    try:
        if "modelfile" in stem.lower() or modelfile.looks_like_modelfile(text):
            return list(modelfile.services(text, path=path, name=_name(stem))), []
        if path.endswith((".yaml", ".yml")):
            return _read_yaml(path, data)
        return list(_script(path, text)), []
    except TierlockError as fault:
        where, _, line = fault.where.rpartition(":")
        return [], [Finding("TL090", fault.message, path=where or path, line=int(line or 0), hint=fault.hint)]


def _read_yaml(path: str, data: bytes) -> tuple[list[Service], list[Finding]]:
    readings = read_foreign_yaml(data, path)
    findings = [finding for reading in readings for finding in reading.findings]
    documents = [reading.tree for reading in readings]
    found: list[Service] = []
    if any(as_mapping(document).get("kind") for document in documents):
        found = list(kubernetes.services(documents, path=path))
    else:
        for document in documents:
            if helm.is_production_stack(document):
                found += helm.services(document, path=path)
            elif truss.is_truss(document):
                found += truss.services(document, path=path)
            elif as_mapping(as_mapping(document).get("services")):
                found += compose.services(document, path=path)
    return found, findings


def _script(path: str, text: str) -> Iterator[Service]:
    """A start script or a line of shell that starts a server."""
    try:
        launch = command.read_script(text, {})
    except ValueError:  # shlex: no closing quotation
        return
    engine = detect.from_argv(launch.argv) or detect.from_image(launch.image)
    if engine:
        started = detect.from_argv(launch.argv)
        argv = launch.argv if started else (*detect.PROGRAMS[engine], *launch.argv)
        yield Service(
            name=_name(_stem(path)),
            where=path,
            engine=engine,
            version=detect.version_of(launch.image),
            image=launch.image,
            argv=argv,
            environment=launch.environment,
            mounts=launch.mounts,
            installs=launch.installs,
            entrypoint=launch.entrypoint,
        )


def _convert(service: Service, name: str) -> _Tiers:
    parsed = _parse(service)
    stated, referring = _without_references(parsed.base)
    base: dict[str, Json] = {"kind": "base", **_overlaid(stated, service.known.base)}
    version = look(base, "engine.version")
    engine = {"name": service.engine, **as_mapping(base.get("engine"))}
    if version is ABSENT and service.version:
        engine = {"name": service.engine, "version": service.version, **as_mapping(base.get("engine"))}
    base["engine"] = engine
    files = dict(service.files)
    notes = list(service.notes)
    findings = [
        finding if finding.path else replace(finding, path=service.where)
        for finding in (*parsed.findings, *service.known.findings)
    ]
    _image(base, service)
    _hardware(base, service)
    _environment(base, service, notes)
    sampling = {"kind": "sampling", **parsed.sampling, **service.known.sampling}
    prompts: dict[str, Json] = {"kind": "prompts", **parsed.prompts, **service.known.prompts}
    left_open = [*_version_open(service), *referring, *service.left_open, *service.known.left_open]
    left_open += [
        item for item in parsed.left_open if item.key != "base: engine.version" or not service.version
    ]
    for file in files:
        prompts["chat_template"] = {"file": file}
    left_open += _base_open(base) + _sampling_open(sampling)
    trees = {"base": _ordered(base), "sampling": sampling, "prompts": prompts}
    shown = name or _name(service.name)
    return _Tiers(shown, trees, files, _distinct(left_open), tuple(findings), tuple(notes))


def _parse(service: Service) -> Imported:
    if not service.engine or not service.argv:
        return Imported()
    values = {key: value for key, value in service.environment.items() if not value.startswith("env:")}
    return registry.load(service.engine).parse(service.argv, values)


def _without_references(base: Mapping[str, Json]) -> tuple[dict[str, Json], list[Open]]:
    """`base` without values that are still references to the platform's variables, and those as left open."""
    stated: dict[str, Json] = {}
    referring = []
    for key, value in leaves(base):
        if isinstance(value, str) and command.references(value):
            why = f"the source writes `{value}`, which the platform fills in"
            referring.append(Open(f"base: {key}", why, suggestion="the value itself"))
        else:
            put(stated, key, value)
    return stated, referring


def _unset(base: Mapping[str, Json], items: Iterable[Open], *, versioned: bool) -> list[Open]:
    """What the launch leaves open and nothing else in the source sets."""
    return [
        item
        for item in items
        if look(base, item.key.removeprefix("base: ")) is ABSENT
        and not (versioned and item.key == "base: engine.version")
    ]


def _overlaid(parsed: Mapping[str, Json], known: Mapping[str, Json]) -> dict[str, Json]:
    """Both trees; where both speak, what the source says beside the launch (`known`) counts."""
    merged = dict(parsed)
    for key, value in known.items():
        mine = merged.get(key)
        merged[key] = _overlaid(mine, value) if isinstance(mine, dict) and isinstance(value, dict) else value
    return merged


def _image(base: dict[str, Json], service: Service) -> None:
    if not service.image:
        return
    image: dict[str, Json] = {"ref": service.image}
    if service.mounts:
        image["mounts"] = [
            {"source": m.source, "target": m.target, **({"read_only": True} if m.read_only else {})}
            for m in service.mounts
        ]
    if service.installs:
        image["install_at_start"] = list(service.installs)
    base["image"] = image


def _hardware(base: dict[str, Json], service: Service) -> None:
    hardware: dict[str, Json] = {}
    if service.hardware.device:
        hardware["device"] = service.hardware.device
    if service.hardware.gpu:
        hardware["gpu"] = service.hardware.gpu
    if service.hardware.count:
        hardware["count"] = service.hardware.count
    if hardware:
        base["hardware"] = hardware


def _environment(base: dict[str, Json], service: Service, notes: list[str]) -> None:
    """Variables that shape the output or may: secrets as references, logging left out and named."""
    taken = set(as_mapping(_look(base, "engine.options")))
    kept: dict[str, Json] = {}
    dropped = []
    for name, value in service.environment.items():
        kind = classify(name)
        if kind == "noise" or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name in taken:
            dropped.append(name)
        elif value.startswith("env:") or kind == "secret" or find_secrets(value):
            kept[name] = f"env:{name}"
        elif value:
            kept[name] = value
    declared = as_mapping(_look(base, "environment.variables"))
    if kept or declared:
        put(base, "environment.variables", {**kept, **declared})
    if dropped:
        notes.append(f"left out, since they shape no output: {', '.join(dropped)}")


def _look(tree: Mapping[str, Json], key: str) -> Json | None:
    value = look(tree, key)
    return None if value is ABSENT else value


def _base_open(base: dict[str, Json]) -> list[Open]:
    """What every source must say for the base tier to be pinned."""
    reference = str(look(base, "image.ref"))
    wanted: tuple[tuple[bool, str, str, str], ...] = (
        (look(base, "model.id") is ABSENT, "model.id", "the source names no model", "the hub id or the path"),
        (
            look(base, "model.revision") is ABSENT,
            "model.revision",
            "the default branch moves",
            "the commit the hub shows, 40 hex digits",
        ),
        (
            look(base, "model.tokenizer.revision") is ABSENT,
            "model.tokenizer.revision",
            "the tokenizer follows the default branch",
            "the same commit",
        ),
        (
            look(base, "model.weights.files") is ABSENT,
            "model.weights.files",
            "nothing says which bytes are meant",
            "tierlock capture --weights FOLDER",
        ),
        (
            look(base, "engine.version") is ABSENT,
            "engine.version",
            "nothing says which version runs",
            "the version that the server reports",
        ),
        (
            look(base, "image.ref") is not ABSENT and "@sha256:" not in reference,
            "image.ref",
            "the tag can be moved" if ":" in reference.rsplit("/", 1)[-1] else "no tag means `latest`",
            "name@sha256:…, as `tierlock capture --image` prints it",
        ),
    )
    return [Open(f"base: {key}", why, suggestion=fix) for missing, key, why, fix in wanted if missing]


def _version_open(service: Service) -> list[Open]:
    if not service.version:
        return []
    why = f"`{service.version}` is what the tag says; the image may hold another"
    return [Open("base: engine.version", why, suggestion="compare with the running server: tierlock diff")]


def _sampling_open(sampling: Mapping[str, Json]) -> list[Open]:
    return [
        Open(f"sampling: {key}", _FLOATING, suggestion="a value, or `inherit`")
        for key in _WANTED_SAMPLING
        if key not in sampling
    ]


def _with_generation(converted: list[_Tiers], sources: Mapping[str, bytes], name: str) -> list[_Tiers]:
    """A generation config belongs to the one service beside it; alone it is a sampling tier."""
    for path, data in sources.items():
        tree = as_mapping(read_json(data, path).tree)
        read = read_generation_config(tree)
        notes = [f"{path}: `{key}` is left out: {why}" for key, why in read.left_out.items()]
        notes += [f"{path}: `{key}` is no decoding parameter tierlock knows" for key in read.unknown]
        if len(converted) == 1:
            only = converted[0]
            put(only.trees["base"], "model.generation_config", {"file": "generation_config.json"})
            files = {**only.files, "base/generation_config.json": data}
            converted = [replace(only, files=files, notes=(*only.notes, *notes))]
        else:
            sampling: dict[str, Json] = {"kind": "sampling", **read.sampling}
            opened = _sampling_open(sampling) + [
                Open(f"generation_config: {key}", "no key of the sampling tier says this")
                for key in read.unknown
            ]
            shown = name or _name(_stem(path).removesuffix("generation_config").rstrip("-_.") or "model")
            converted = [
                *converted,
                _Tiers(shown, {"sampling": sampling}, {}, tuple(opened), (), tuple(notes)),
            ]
    return converted


def _files(converted: list[_Tiers]) -> tuple[dict[str, bytes], set[str]]:
    """The files by repository path; services of one name get a number."""
    files: dict[str, bytes] = {}
    services: dict[str, Json] = {}
    names: set[str] = set()
    for tiers in converted:
        name, number = tiers.name, 2
        while name in names:
            name, number = f"{tiers.name}-{number}", number + 1
        names.add(name)
        for tier, tree in tiers.trees.items():
            files[f"configs/{tier}/{name}.yaml"] = dump(tree).encode()
        for file, data in tiers.files.items():
            tier, _, rest = file.rpartition("/")
            files[f"configs/{tier or 'prompts'}/{name}/{rest}"] = data
        if len(tiers.trees) == len(TIERS):
            services[name] = dict.fromkeys(TIERS, name)
    if services:
        files["tierlock.yaml"] = dump({"version": 1, "services": services}).encode()
    return files, names


def _open_value(tiers: _Tiers, item: Open, *, alone: bool) -> EffectiveValue:
    return EffectiveValue(
        key=item.key if alone else f"{tiers.name} {item.key}",
        value=Unknown(item.reason),
        provenance="left open",
        risk=item.effect,
        note=item.suggestion,
    )


_ORDER: Final = ("kind", "model", "precision", "engine", "image", "hardware", "environment")


def _ordered(base: dict[str, Json]) -> dict[str, Json]:
    return {key: base[key] for key in sorted(base, key=lambda k: _ORDER.index(k) if k in _ORDER else 99)}


def _distinct(items: list[Open]) -> tuple[Open, ...]:
    """One entry per key, the first and most specific reason, output-affecting ones only."""
    found: dict[str, Open] = {}
    for item in items:
        if item.effect is Effect.OUTPUT:
            found.setdefault(item.key, item)
    return tuple(found.values())


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1].rsplit(".", 1)[0]


def _name(text: str) -> str:
    """`text` as the name of a config: lower case, digits, `.`, `-` and `_`."""
    name = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._")
    return name[:60].rstrip("-._") or "service"
