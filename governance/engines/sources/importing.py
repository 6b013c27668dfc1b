"""Foreign descriptions of a service, turned into tier files and a list of what they leave open.

- Every source is recognised by its content, never by its name alone; one that describes no server is
  `undecided`, not skipped.
- What a source says goes into the tiers as it says it, mapped and never rounded; what it leaves open is
  listed with the reason and what to write, and is not filled in.
- A secret becomes a reference, a variable that only logs is dropped and named.
- Pure: bytes in, bytes and a report out. Writing is the caller's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from governance.engines.generation_config import SAMPLING_KEYS, read_generation_config
from governance.engines.keys import put
from governance.engines.model import Open
from governance.engines.sources import command, compose, detect, helm, kubernetes, modelfile, truss
from governance.engines.sources.converting import Tiers, config_name, convert, sampling_open
from governance.engines.sources.model import Service, as_mapping
from governance.errors import TierlockError
from governance.tiers.reader import read_foreign_yaml, read_json
from governance.tiers.writer import dump
from governance.values import Json, Unknown
from governance.verdict import Check, EffectiveValue, Finding, Outcome, Report, sort_findings

TIERS: Final = ("base", "sampling", "prompts")


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The files to write, by path in the repository, and what to tell the person."""

    files: Mapping[str, bytes]
    report: Report


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
    converted = [convert(service, name if len(found) == 1 else "") for service in found]
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
            return list(modelfile.services(text, path=path, name=config_name(stem))), []
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
            name=config_name(_stem(path)),
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


def _with_generation(converted: list[Tiers], sources: Mapping[str, bytes], name: str) -> list[Tiers]:
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
            opened = sampling_open(sampling) + [
                Open(f"generation_config: {key}", "no key of the sampling tier says this")
                for key in read.unknown
            ]
            shown = name or config_name(
                _stem(path).removesuffix("generation_config").rstrip("-_.") or "model"
            )
            converted = [
                *converted,
                Tiers(shown, {"sampling": sampling}, {}, tuple(opened), (), tuple(notes)),
            ]
    return converted


def _files(converted: list[Tiers]) -> tuple[dict[str, bytes], set[str]]:
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


def _open_value(tiers: Tiers, item: Open, *, alone: bool) -> EffectiveValue:
    return EffectiveValue(
        key=item.key if alone else f"{tiers.name} {item.key}",
        value=Unknown(item.reason),
        provenance="left open",
        risk=item.effect,
        note=item.suggestion,
    )


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
