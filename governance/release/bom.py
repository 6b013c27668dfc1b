"""A release as a CycloneDX 1.6 bill of materials: the service, its model, engine, packages and image.

- The model is a `machine-learning-model` with its weight files and a model card; CycloneDX has no field for
  sampling, prompts or layers, so they are properties named `tierlock:…`.
- What is not known is not listed: a packages layer that nobody captured gives no components, and the
  composition then says `incomplete`.
- The serial number comes from the record, so the same record gives the same bytes.
- Pure.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Final

from governance.engines.keys import look
from governance.fingerprint.packages import Packages
from governance.fingerprint.weights import Weights
from governance.release import record as records
from governance.release.attestation import image_of
from governance.release.record import Record
from governance.tiers.config import Service
from governance.values import Json, Tree, Unknown

MEDIA_TYPE: Final = "application/vnd.cyclonedx+json"
SPEC: Final = "1.6"
_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "https://tierlock.dev/release/v1")
_HASHES: Final = {"sha256": "SHA-256", "sha512": "SHA-512", "blake3": "BLAKE3"}


def bom(record: Record, service: Service) -> bytes:
    """The bill of materials of `record`, whose configs are those of `service` at its commit."""
    base = service.base.tree if service.base is not None else {}
    model = _model(base, record)
    parts: list[dict[str, Json]] = [model, *_engine(record), *_image(record), *_packages(record)]
    tree: Json = {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPEC}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPEC,
        "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, records.digest_of(records.dump(record)))}",
        "version": 1,
        "metadata": _metadata(record, service),
        "components": list(parts),
        "dependencies": [
            {"ref": record.label, "dependsOn": sorted(str(part["bom-ref"]) for part in parts)},
        ],
        "compositions": [_composition(record)],
    }
    return records.text_of(tree)


def _metadata(record: Record, service: Service) -> dict[str, Json]:
    name, _, version = record.tool.partition(" ")
    return {
        "timestamp": record.created_at,
        "tools": {"components": [{"type": "application", "name": name or "tierlock", "version": version}]},
        "component": {
            "type": "application",
            "bom-ref": record.label,
            "name": record.service,
            "version": record.id,
            "properties": _properties(record, service),
        },
    }


def _properties(record: Record, service: Service) -> list[Json]:
    found: list[tuple[str, Json]] = [
        ("tierlock:fingerprint", record.fingerprint),
        ("tierlock:scheme", record.scheme),
        ("tierlock:commit", record.commit),
    ]
    for name, value in record.layers.items():
        said = f"unknown: {value.reason}" if isinstance(value, Unknown) else value
        found.append((f"tierlock:layer:{name}", said))
    found += [(f"tierlock:binding:{tier}", name) for tier, name in record.bindings.items()]
    sampling = service.sampling.tree if service.sampling is not None else {}
    found += [
        (f"tierlock:sampling:{key}", value)
        for key, value in sampling.items()
        if isinstance(value, str | int | float) and key != "kind"
    ]
    return [{"name": name, "value": _text(value)} for name, value in found]


def _model(base: Tree, record: Record) -> dict[str, Json]:
    model = str(_known(base, "model.id") or record.bindings["base"])
    revision = _known(base, "model.revision")
    group, _, name = model.rpartition("/")
    found: dict[str, Json] = {
        "type": "machine-learning-model",
        "bom-ref": f"model:{model}",
        "name": name,
        "modelCard": {"modelParameters": {"task": "text-generation", "inputs": [{"format": "text"}],
                                          "outputs": [{"format": "text"}]}},
    }  # fmt: skip
    if group:
        found["group"] = group
    if revision:
        found["version"] = str(revision)
    if files := list(_files(base, record)):
        found["components"] = files
    said = [(key, _known(base, key)) for key in ("precision.weights.method", "precision.weights.type",
                                                 "precision.kv_cache.dtype")]  # fmt: skip
    properties: list[Json] = [
        {"name": f"tierlock:{key}", "value": _text(value)} for key, value in said if value
    ]
    if properties:
        found["properties"] = properties
    return found


def _files(base: Tree, record: Record) -> Iterator[Json]:
    """The weight files as captured, else as declared."""
    capture = record.captured()
    if capture is not None and isinstance(capture.weights, Weights) and capture.weights.files:
        for file in capture.weights.files:
            yield _file(file.name, [one for one in (file.sha256, file.blake3) if one])
        return
    declared = look(base, "model.weights.files")
    for name, digest in declared.items() if isinstance(declared, Mapping) else ():
        yield _file(str(name), [str(digest)])


def _file(name: str, digests: list[str]) -> Json:
    hashes: list[Json] = []
    for digest in digests:
        algorithm, _, digits = digest.partition(":")
        if algorithm in _HASHES:
            hashes.append({"alg": _HASHES[algorithm], "content": digits})
    return {"type": "file", "bom-ref": f"file:{name}", "name": name, "hashes": hashes}


def _engine(record: Record) -> Iterator[dict[str, Json]]:
    name, version = record.engine
    if name:
        yield {"type": "application", "bom-ref": f"engine:{name}", "name": name, "version": version}


def _image(record: Record) -> Iterator[dict[str, Json]]:
    reference, digest = image_of(record)
    if not reference:
        return
    found: dict[str, Json] = {"type": "container", "bom-ref": "image", "name": reference.partition("@")[0]}
    if digest:
        found["version"] = digest
        found["hashes"] = [{"alg": "SHA-256", "content": digest.partition(":")[2]}]
    yield found


def _packages(record: Record) -> Iterator[dict[str, Json]]:
    capture = record.captured()
    if capture is None or not isinstance(capture.packages, Packages):
        return
    seen: set[str] = set()
    for package in capture.packages.packages:
        reference = f"pkg:pypi/{package.name}"
        found: dict[str, Json] = {"type": "library", "name": package.name}
        if package.version:
            reference += f"@{package.version.replace('+', '%2B')}"
            found["version"] = package.version
        if reference not in seen:  # one package under two markers
            seen.add(reference)
            yield {**found, "bom-ref": reference, "purl": reference}


def _composition(record: Record) -> Json:
    known = not isinstance(record.layers["packages"], Unknown)
    return {"aggregate": "complete" if known else "incomplete", "assemblies": [record.label]}


def _known(tree: Tree, key: str) -> Json:
    value = look(tree, key)
    return value if isinstance(value, str | int | float) else None


def _text(value: Json) -> str:
    return (
        value if isinstance(value, str) else f"{value!s}".lower() if isinstance(value, bool) else f"{value}"
    )
