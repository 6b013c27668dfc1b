"""One service of a foreign source as three tier trees, and what it leaves open.

- What a source says beside the launch (a storage address, a Modelfile's SYSTEM) counts over the launch.
- A value that is still a reference to the platform's variables is no value: it is left open.
- A secret becomes a reference, a variable that only logs is dropped and named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from governance.engines import registry
from governance.engines.keys import leaves, look, put
from governance.engines.model import Imported, Open
from governance.engines.sources import command
from governance.engines.sources.model import Service, as_mapping
from governance.tiers.rules.variables import classify
from governance.tiers.secrets import find_secrets
from governance.values import ABSENT, Effect, Json
from governance.verdict import Finding

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
_ORDER: Final = ("kind", "model", "precision", "engine", "image", "hardware", "environment")


@dataclass(frozen=True, slots=True)
class Tiers:
    """One service as three trees, the files they refer to, and what is open."""

    name: str
    trees: dict[str, dict[str, Json]]
    files: dict[str, bytes]
    left_open: tuple[Open, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


def convert(service: Service, name: str) -> Tiers:
    """The tiers of `service`; `name` is used instead of the source's own where it is given."""
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
    _environment(base, service, _consumed(service, parsed), notes)
    sampling = {"kind": "sampling", **parsed.sampling, **service.known.sampling}
    prompts: dict[str, Json] = {"kind": "prompts", **parsed.prompts, **service.known.prompts}
    left_open = [*_version_open(service), *referring, *service.left_open, *service.known.left_open]
    left_open += _unset(base, parsed.left_open, versioned=bool(service.version))
    for file in files:
        prompts["chat_template"] = {"file": file}
    left_open += _base_open(base) + sampling_open(sampling)
    trees = {"base": _ordered(base), "sampling": sampling, "prompts": prompts}
    shown = name or config_name(service.name)
    return Tiers(shown, trees, files, _distinct(left_open), tuple(findings), tuple(notes))


def _parse(service: Service, *, without: str = "") -> Imported:
    """What the engine makes of the launch; `without` leaves one variable out."""
    if not service.engine or not service.argv:
        return Imported()
    values = {
        key: value
        for key, value in service.environment.items()
        if not value.startswith("env:") and key != without
    }
    return registry.load(service.engine).parse(service.argv, values, version=service.version)


def _consumed(service: Service, parsed: Imported) -> set[str]:
    """The variables the engine read as options: left out, they would take a value of the tiers with them."""

    def options(imported: Imported) -> dict[str, Json]:
        return {key: value for key, value in imported.base.items() if key != "environment"}

    whole = options(parsed)
    return {name for name in service.environment if options(_parse(service, without=name)) != whole}


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


def _environment(base: dict[str, Json], service: Service, consumed: set[str], notes: list[str]) -> None:
    """Variables that shape the output or may: secrets as references, logging left out and named."""
    kept: dict[str, Json] = {}
    dropped = []
    for name, value in service.environment.items():
        kind = classify(name)
        if name in consumed:
            continue
        if kind == "noise" or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
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


def sampling_open(sampling: Mapping[str, Json]) -> list[Open]:
    return [
        Open(f"sampling: {key}", _FLOATING, suggestion="a value, or `inherit`")
        for key in _WANTED_SAMPLING
        if key not in sampling
    ]


def _ordered(base: dict[str, Json]) -> dict[str, Json]:
    return {key: base[key] for key in sorted(base, key=lambda k: _ORDER.index(k) if k in _ORDER else 99)}


def _distinct(items: list[Open]) -> tuple[Open, ...]:
    """One entry per key, the first and most specific reason, output-affecting ones only."""
    found: dict[str, Open] = {}
    for item in items:
        if item.effect is Effect.OUTPUT:
            found.setdefault(item.key, item)
    return tuple(found.values())


def config_name(text: str) -> str:
    """`text` as the name of a config: lower case, digits, `.`, `-` and `_`."""
    name = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._")
    return name[:60].rstrip("-._") or "service"
