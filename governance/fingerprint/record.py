"""A capture and its record, `tierlock.capture/1`: what one host or image really has, with digests.

- The digest of a layer is recomputed when a record is read: an edited record is refused, not believed.
- A record of a newer format is refused with the remedy; one made under another scheme keeps its digests as
  they are, so that it can be shown and is never called "changed".
- Same capture, same bytes: keys sorted, two blanks, one newline at the end.
- Pure: bytes in, capture out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from governance.errors import NewerFormat, Unreadable
from governance.fingerprint import image as images
from governance.fingerprint import packages as package_lists
from governance.fingerprint import platform as platforms
from governance.fingerprint import weights as model_weights
from governance.fingerprint.layers import OBSERVED, Fingerprint
from governance.tiers.canonical import SCHEME, digest
from governance.values import Json, Tree, Unknown

if TYPE_CHECKING:
    from governance.fingerprint.image import Image
    from governance.fingerprint.packages import Packages
    from governance.fingerprint.platform import Platform
    from governance.fingerprint.weights import Weights
    from governance.verdict import Finding

FORMAT: Final = "tierlock.capture"
VERSION: Final = 1

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Capture:
    """What was captured. A layer is its value, `Unknown` with the reason, or `None` when nobody asked for it.

    `recorded` holds the digests of a record made under another scheme; they are shown and never recomputed.
    """

    generated_at: str
    tool: str
    weights: Weights | Unknown | None = None
    packages: Packages | Unknown | None = None
    platform: Platform | Unknown | None = None
    image: Image | Unknown | None = None
    findings: tuple[Finding, ...] = field(default=(), compare=False)
    scheme: str = SCHEME
    recorded: Mapping[str, str] = field(default_factory=dict)

    def values(self) -> dict[str, Tree | Unknown]:
        """What each asked layer's digest is taken from, or why there is none."""
        result: dict[str, Tree | Unknown] = {}
        if self.weights is not None:
            result["weights"] = _value(self.weights, model_weights.layer_value)
        if self.packages is not None:
            result["packages"] = _value(self.packages, package_lists.layer_value)
        if self.platform is not None:
            result["platform"] = _value(self.platform, platforms.layer_value)
        if self.image is not None:
            result["image"] = _value(self.image, images.layer_value)
        return result

    def digests(self) -> dict[str, str | Unknown]:
        """The digest of each asked layer, or why there is none."""
        if self.scheme != SCHEME:
            return {name: self.recorded.get(name, Unknown("not in the record")) for name in self.values()}
        values = self.values()
        found = {n: v if isinstance(v, Unknown) else digest(v) for n, v in values.items() if n != "packages"}
        if self.packages is not None:
            found["packages"] = _of_packages(self.packages)
        return {name: found[name] for name in values}

    def parts(self) -> dict[str, str | Unknown]:
        """The digest of each part of the platform layer: `driver`, `gpu`, `os packages`, …"""
        if self.platform is None or isinstance(self.platform, Unknown):
            return {}
        found = platforms.parts(self.platform)
        return {n: v if isinstance(v, Unknown) else digest(v) for n, v in found.items()}

    def fingerprint(self) -> Fingerprint:
        """The captured layers alone."""
        return Fingerprint(self.digests(), self.scheme)


def _of_packages(packages: Packages | Unknown) -> str | Unknown:
    return packages if isinstance(packages, Unknown) else package_lists.layer_digest(packages)


def _value(layer: T | Unknown, take: Callable[[T], Tree | Unknown]) -> Tree | Unknown:
    return layer if isinstance(layer, Unknown) else take(layer)


@dataclass(frozen=True, slots=True)
class _Kind(Generic[T]):
    write: Callable[[T], Tree]
    read: Callable[[Tree], T]


_KINDS: Final[dict[str, _Kind[Any]]] = {
    "weights": _Kind(model_weights.to_json, model_weights.from_json),
    "packages": _Kind(package_lists.to_json, package_lists.from_json),
    "platform": _Kind(platforms.to_json, platforms.from_json),
    "image": _Kind(images.to_json, images.from_json),
}


def dump(capture: Capture) -> bytes:
    """The record of a capture as JSON text."""
    digests = capture.digests()
    layers: dict[str, Json] = {}
    for name in OBSERVED:
        value = getattr(capture, name)
        if value is None:
            continue
        entry: dict[str, Json] = {}
        found = digests[name]
        entry.update({"unknown": found.reason} if isinstance(found, Unknown) else {"digest": found})
        if not isinstance(value, Unknown):
            entry["value"] = _KINDS[name].write(value)
        layers[name] = entry
    tree: Tree = {
        "schema": f"{FORMAT}/{VERSION}",
        "scheme": capture.scheme,
        "tool": capture.tool,
        "generated_at": capture.generated_at,
        "layers": layers,
    }
    return (json.dumps(tree, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def is_capture(data: bytes) -> bool:
    """Whether these bytes look like a capture record of any format version."""
    return f'"{FORMAT}/'.encode() in data[-4096:] or f'"{FORMAT}/'.encode() in data[:4096]


def load(data: bytes, path: str) -> Capture:
    """The capture in a record. Raises `NewerFormat`, or `Unreadable` for anything that is not a whole,
    unedited record; both name `path`.
    """
    tree = _json(data, path)
    _check_format(tree, path)
    try:
        capture = _capture(tree)
        recorded = _recorded(tree)
    except (KeyError, TypeError, ValueError) as err:
        what = f"`{err.args[0]}`" if isinstance(err, KeyError) else str(err)
        raise Unreadable(
            f"`{path}` is not a whole capture: {what}", where=path, hint="capture again: tierlock capture"
        ) from err
    if capture.scheme != SCHEME:
        return capture
    for name, found in capture.digests().items():
        if not isinstance(found, Unknown) and recorded.get(name) != found:
            raise Unreadable(
                f"`{path}` was edited: the {name} layer does not have the digest that is written beside it",
                where=f"{path}: layers.{name}",
                hint="capture again: tierlock capture",
            )
    return capture


def _json(data: bytes, path: str) -> Tree:
    def pairs(items: list[tuple[str, Json]]) -> dict[str, Json]:
        result = dict(items)
        if len(result) != len(items):
            raise ValueError("a key is there twice")
        return result

    def constant(name: str) -> float:
        raise ValueError(f"{name} is not JSON")

    try:
        tree = json.loads(data.decode("utf-8"), object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as err:
        end = err.pos >= len(err.doc.rstrip()) or err.msg.startswith("Unterminated")
        what = "ends too early" if end else f"is not JSON: {err.msg}"
        raise Unreadable(f"`{path}` {what}", where=f"{path}:{err.lineno}:{err.colno}") from err
    except (ValueError, RecursionError) as err:
        raise Unreadable(f"`{path}` is not JSON: {err}", where=path) from err
    if not isinstance(tree, dict):
        raise Unreadable(f"`{path}` is not a capture", where=path)
    return tree


def _check_format(tree: Tree, path: str) -> None:
    name, _, version = str(tree.get("schema", "")).partition("/")
    if name != FORMAT or not version.isdigit():
        raise Unreadable(
            f"`{path}` is not a capture: its `schema` is `{tree.get('schema', 'missing')}`",
            where=path,
            hint="give a file that `tierlock capture` wrote",
        )
    if int(version) > VERSION:
        raise NewerFormat(
            f"capture format {version} is newer than this tool reads (up to {VERSION})",
            where=path,
            hint="upgrade tierlock",
        )


def _capture(tree: Tree) -> Capture:
    layers = tree["layers"]
    if not isinstance(layers, Mapping) or set(layers) - set(OBSERVED):
        raise ValueError("`layers` is not a table of captured layers")
    read = {name: _layer(name, entry) for name, entry in layers.items()}
    scheme = str(tree["scheme"])
    return Capture(
        generated_at=str(tree["generated_at"]),
        tool=str(tree["tool"]),
        scheme=scheme,
        recorded=_recorded(tree) if scheme != SCHEME else {},
        **read,
    )


def _layer(name: str, entry: Json) -> Any:
    if not isinstance(entry, Mapping):
        raise TypeError(f"layer `{name}` is not a table")
    value = entry.get("value")
    if value is None:
        return Unknown(str(entry["unknown"]))
    if not isinstance(value, Mapping):
        raise TypeError(f"the value of layer `{name}` is not a table")
    return _KINDS[name].read(value)


def _recorded(tree: Tree) -> dict[str, str]:
    layers = tree["layers"]
    entries = layers.items() if isinstance(layers, Mapping) else ()
    return {n: str(e["digest"]) for n, e in entries if isinstance(e, Mapping) and "digest" in e}
