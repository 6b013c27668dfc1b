"""What the options of `tierlock capture` ask for, in the words of `fingerprint.capture`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from governance.adapters.files import WorkTree, read_file, write_atomic
from governance.cli.repository import cache_folder, find
from governance.engines.keys import look
from governance.engines.services import named
from governance.errors import Unreadable, Usage
from governance.fingerprint.capture import Capture, Wanted, dump
from governance.tiers.config import load_repository
from governance.values import Tree


def wanted(service: str, root: str, given: Mapping[str, Any]) -> Wanted:
    """Where each layer is taken from; what `service` declares fills in what no option names."""
    base = _base(service, root) if service else {}
    freeze: Path | None = given["freeze"]
    inspect: Path | None = given["inspect"]
    if freeze and (given["python"] or given["pid"]):
        raise Usage("`--freeze` stands for an environment: name it or one with --python or --pid, not both")
    declared = look(base, "model.weights.files")
    return Wanted(
        python=given["python"],
        pid=given["pid"],
        package_list=(freeze.name, read_file(freeze)) if freeze else None,
        weights=given["weights"],
        declared={str(k): str(v) for k, v in declared.items()} if isinstance(declared, Mapping) else {},
        model=_text(base, "model.id") if not given["weights"] else "",
        revision=_text(base, "model.revision"),
        sha256=given["sha256"],
        hub_digests=given["hub_digests"],
        cache=None if given["no_cache"] else cache_folder("digests"),
        image=given["image"] or _text(base, "image.ref"),
        image_platform=given["image_platform"],
        inspect=read_file(inspect) if inspect else None,
        mounts=dict(given["mounts"]),
        engine=(_text(base, "engine.name"), _text(base, "engine.version")),
        insecure=given["insecure"],
    )


def layers(what: Wanted) -> list[str]:
    """The layers that are asked for: a list of packages says nothing of a host."""
    found = ["packages"] if what.package_list else ["packages", "platform"]
    found += ["weights"] if what.weights or what.model else []
    return found + (["image"] if what.image or what.inspect else [])


def write(target: Path | None, capture: Capture) -> str:
    """Write the record, if a file is named; its name."""
    if target is None:
        return ""
    write_atomic(target, dump(capture))
    return str(target)


def read(path: str | None) -> Capture | None:
    """The capture in the file `path`, if one is named."""
    from governance.fingerprint.capture import load

    return load(read_file(path), path) if path else None


def _base(service: str, root: str) -> Tree:
    base = named(load_repository(WorkTree(find(root))), service).base
    if base is None:
        raise Unreadable(f"the base config of `{service}` does not load", hint="tierlock check")
    return base.tree


def _text(base: Tree, key: str) -> str:
    value = look(base, key)
    return value if isinstance(value, str) else ""
