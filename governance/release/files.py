"""Two files compared: tier files as configs, other JSON and YAML by their values, all else as text.

- Tier files are read and judged by the strict rules; a file that is refused is not compared.
- YAML that is no tier file (no `kind`) is compared by its values, read by the same strict rules.
- Equal values in different bytes are said to be the same in meaning.
"""

from __future__ import annotations

from collections.abc import Mapping

from governance.errors import Unreadable
from governance.fingerprint.changes import Showing, config_changes, content_changes, json_differences
from governance.fingerprint.layers import config_digest
from governance.release.found import Found
from governance.release.sides import FileSide
from governance.tiers.canonical import digest, text_digest
from governance.tiers.config import TIERS, Config, ConfigId
from governance.tiers.places import place_of
from governance.tiers.reader import Reading, read_json, read_yaml
from governance.tiers.references import references
from governance.tiers.validate import validate
from governance.values import Json, Unknown, key_text
from governance.verdict import Change, LayerState

LAYOUT = "the bytes differ in layout, order or comments only"


def compare_files(left: FileSide, right: FileSide, showing: Showing) -> Found:
    """What differs between two files."""
    found = Found(title=f"{left.label} → {right.label}")
    readings = [_reading(side) for side in (left, right)]
    if left.data == right.data:
        found.layers.append(_layer("file", text_digest(left.data), text_digest(right.data)))
    elif None in readings:
        _as_text(found, left, right, showing)
    else:
        _as_values(found, (left, right), [one for one in readings if one is not None], showing)
    return found


def _reading(side: FileSide) -> Reading | None:
    """The file read as YAML or JSON by its name; None for any other file."""
    if side.path.endswith((".yaml", ".yml")):
        return read_yaml(side.data, side.path)
    return read_json(side.data, side.path) if side.path.endswith(".json") else None


def _as_text(found: Found, left: FileSide, right: FileSide, showing: Showing) -> None:
    found.layers.append(_layer("file", text_digest(left.data), text_digest(right.data)))
    found.changes.append(
        Change(
            "file",
            right.path.rpartition("/")[2],
            f"sha256:{text_digest(left.data)}",
            f"sha256:{text_digest(right.data)}",
            path=right.path,
            text=content_changes(left.data, right.data, right.path, showing),
        )
    )


def _as_values(
    found: Found, sides: tuple[FileSide, FileSide], readings: list[Reading], showing: Showing
) -> None:
    refused = [reading for reading in readings if reading.refused]
    for reading in refused:
        found.findings += reading.findings
        found.undecided.append((reading.path, "the file cannot be read"))
    if refused:
        return
    kinds = [_kind(reading.tree) for reading in readings]
    if "" in kinds:
        _as_trees(found, readings)
    elif kinds[0] != kinds[1]:
        found.undecided.append(("compared", f"a {kinds[0]} config is no {kinds[1]} config"))
    else:
        _as_configs(found, sides, readings, kinds[0], showing)


def _kind(tree: Json) -> str:
    kind = tree.get("kind") if isinstance(tree, Mapping) else None
    return kind if isinstance(kind, str) and kind in TIERS else ""


def _as_trees(found: Found, readings: list[Reading]) -> None:
    old, new = readings
    found.layers.append(_layer("values", _digest(old.tree), _digest(new.tree)))
    for one in json_differences(old.tree, new.tree):
        line, column = place_of(new, one.path)
        found.changes.append(
            Change(
                "values",
                key_text(one.path),
                one.before,
                one.after,
                path=new.path,
                line=line,
                column=column,
            )
        )
    if not found.changes:
        found.layers[-1] = LayerState("values", "same", found.layers[-1].before, found.layers[-1].after)
        found.same_meaning = LAYOUT


def _digest(tree: Json) -> str | Unknown:
    try:
        return digest(tree)
    except ValueError as err:
        return Unknown(str(err))


def _as_configs(
    found: Found, sides: tuple[FileSide, FileSide], readings: list[Reading], kind: str, showing: Showing
) -> None:
    configs = [_config(found, side, reading, kind) for side, reading in zip(sides, readings, strict=True)]
    old, new = configs
    if old is None or new is None:
        return
    found.layers.append(_layer(kind, config_digest(old), config_digest(new)))
    found.changes += config_changes(kind, old, new, showing)
    if not found.changes:
        found.same_meaning = LAYOUT


def _config(found: Found, side: FileSide, reading: Reading, kind: str) -> Config | None:
    """The config in a file with the files it names, or None and why in `found`."""
    tree, findings = validate(kind, reading)
    if tree is None:
        found.findings += findings
        found.undecided.append((side.path, f"the file is no valid {kind} config"))
        return None
    name = side.path.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
    files: dict[str, bytes] = {}
    for _, reference, _ in references(kind, tree):
        try:
            files[f"{name}/{reference}"] = side.beside(f"{name}/{reference}")
        except Unreadable as err:
            found.undecided.append((side.path, err.message))
            return None
    return Config(ConfigId(kind, name), side.path, tree, reading, files)


def _layer(name: str, before: str | Unknown, after: str | Unknown) -> LayerState:
    if isinstance(before, Unknown) or isinstance(after, Unknown):
        return LayerState(name, "unknown", before, after)
    return LayerState(name, "same" if before == after else "changed", before, after)
