"""The layers of a fingerprint: what each digest covers, how they fold, and when two are the same.

- A layer's digest is the SHA-256 of the RFC 8785 form of its *meaning*: typed values, with every text and
  file in it replaced by the SHA-256 of its bytes.
- `meaning(config)` is that value. Two configs have one digest exactly when their meanings are equal, so a
  diff that must agree with the fingerprint compares meanings.
- A text written in place and the same bytes in a file mean the same; the name of the file means nothing.
- Lists that are sets are sorted and lose repeats; everything else keeps its order. Where the schema leaves
  the type open, `1` and `1.0` differ; elsewhere the schema gives one type (`shapes.py`).
- Unknown equals nothing: a fold over an unknown layer is unknown and names the layers, and a comparison of
  layers made under two schemes is unknown, never "changed".
- Pure: no files, no clock. What is left out is in `left_out.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from governance.errors import Unreadable
from governance.fingerprint.left_out import is_noise, is_secret_name
from governance.fingerprint.shapes import Node, Shape, table
from governance.records import dataclass, field
from governance.tiers.canonical import SCHEME, canonical, digest, text_digest
from governance.values import Absent, Effect, Json, Tree, Unknown
from governance.verdict import EffectiveValue, LayerState

if TYPE_CHECKING:
    from governance.fingerprint.capture import Capture
    from governance.tiers.config import Config, Service

LAYERS: Final = ("base", "sampling", "prompts", "effective", "weights", "packages", "platform", "image")
DECLARED: Final = LAYERS[:4]
OBSERVED: Final = LAYERS[4:]

SERVICE_SCHEMA: Final = 1
"""Version of what a service is made of; part of the fold."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Every layer of one service, each a 64-hex digest or `Unknown`; `fold()` is the service's own digest."""

    layers: Mapping[str, str | Unknown] = field(default_factory=dict)
    scheme: str = SCHEME

    def fold(self) -> str | Unknown:
        """The digest over scheme, service schema version and sorted layers, or `Unknown` naming the
        layers.
        """
        known: list[tuple[str, str]] = []
        unknown: list[str] = []
        for name, value in sorted(self.layers.items()):
            if isinstance(value, Unknown):
                unknown.append(f"{name}: {value.reason}")
            else:
                known.append((name, value))
        if unknown:
            return Unknown("; ".join(unknown))
        if not known:
            return Unknown("no layer was fingerprinted")
        return digest([self.scheme, SERVICE_SCHEMA, [[name, value] for name, value in known]])

    def only(self, names: Collection[str]) -> Fingerprint:
        """The same fingerprint reduced to `names`: two sides that cover different layers compare on what
        both have.
        """
        return Fingerprint({n: d for n, d in self.layers.items() if n in names}, self.scheme)


def short(value: str | Unknown | None) -> str:
    """The 12 hex digits people read; `unknown` or `-` when there is no digest."""
    if value is None:
        return "-"
    return "unknown" if isinstance(value, Unknown) else value[:12]


def compare(left: Fingerprint, right: Fingerprint) -> tuple[LayerState, ...]:
    """One state per layer that either side has: `same`, `changed` or `unknown`, in the order of `LAYERS`."""
    names = [name for name in LAYERS if name in left.layers or name in right.layers]
    return tuple(_compare_layer(name, left, right) for name in names)


def _compare_layer(name: str, left: Fingerprint, right: Fingerprint) -> LayerState:
    before, after = left.layers.get(name), right.layers.get(name)
    if left.scheme != right.scheme:
        reason = f"made under two schemes, `{left.scheme}` and `{right.scheme}`"
        return LayerState(name, "unknown", before, after, reason)
    missing = [side for side, value in (("left", before), ("right", after)) if value is None]
    if missing:
        return LayerState(name, "unknown", before, after, f"not on the {' and '.join(missing)} side")
    reasons = [value.reason for value in (before, after) if isinstance(value, Unknown)]
    if reasons:
        return LayerState(name, "unknown", before, after, "; ".join(dict.fromkeys(reasons)))
    return LayerState(name, "same" if before == after else "changed", before, after)


def config_digest(config: Config) -> str:
    """The digest of one config's meaning. Raises `Unreadable` when a file it refers to is not there."""
    return digest(meaning(config))


def meaning(config: Config) -> Tree:
    """What a config says, as the typed value its digest is taken from (shapes:
    `docs/reference/fingerprint.md`).
    """
    reader = _Meaning(config)
    value = reader.tree()
    rest = {name: text_digest(data) for name, data in config.files.items() if name not in reader.used}
    return {**value, "tl:files": rest} if rest else value


class _Meaning:
    """One walk over one config beside its table of shapes; `used` collects the files whose bytes have
    entered.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.used: set[str] = set()

    def tree(self) -> dict[str, Json]:
        return self._mapping(self.config.tree, table(self.config.id.tier))

    def _value(self, value: Json, node: Node | None) -> Json:
        if node is None:
            return value
        shape = node.shape
        if isinstance(value, str):
            if shape is Shape.TEXT:
                return {"content": text_digest(value.encode())}
            return {"content": self._file(value)} if shape is Shape.NAME else value
        if shape is Shape.OPEN:
            return open_value(value)
        if isinstance(value, Mapping):
            return self._variables(value) if shape is Shape.VARIABLES else self._mapping(value, node)
        if isinstance(value, Sequence):
            items = [self._value(item, node.step("*")) for item in value]
            return _as_set(items) if shape is Shape.SET else items
        return value

    def _variables(self, value: Tree) -> Tree:
        return {name: v for name, v in value.items() if not is_noise(name) and not is_secret_name(name)}

    def _mapping(self, value: Tree, node: Node) -> dict[str, Json]:
        result: dict[str, Json] = {}
        for key, item in value.items():
            below = node.step(key)
            if below is not None and below.shape is Shape.OUT:
                continue
            if key == "file" and node.shape in (Shape.FILE, Shape.TEXT) and isinstance(item, str):
                result["content"] = self._file(item)
            elif key == "text" and "file" not in value and _is_text(below) and isinstance(item, str):
                result["content"] = text_digest(item.encode())
            else:
                result[key] = self._value(item, below)
        return result

    def _file(self, name: str) -> str:
        for candidate in (f"{self.config.id.name}/{name}", name):
            if candidate in self.config.files:
                self.used.add(candidate)
                return text_digest(self.config.files[candidate])
        raise Unreadable(
            f"`{name}` is named and is not there",
            where=self.config.path,
            hint=f"add the file to the folder of {self.config.id}, or correct the name",
        )


def _is_text(node: Node | None) -> bool:
    return node is not None and node.shape is Shape.TEXT


def _as_set(items: Sequence[Json]) -> list[Json]:
    return [value for _, value in sorted({canonical(item): item for item in items}.items())]


def open_value(value: Json) -> Json:
    """A value of open type: a float that is a whole number is marked, so that `1.0` and `1` differ."""
    if isinstance(value, float) and value.is_integer():
        return {"tl:float": value}
    if isinstance(value, Mapping):
        return {f"tl:{k}" if k.startswith("tl:") else k: open_value(v) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [open_value(item) for item in value]
    return value


def effective_value(values: Iterable[EffectiveValue], only: Collection[str] | None = None) -> Tree | Unknown:
    """The values that shape an answer, by key, or `Unknown` naming those that could not be had.

    `only` reduces to the keys a running server lets us see. What nobody sets is not in the result.
    """
    result: dict[str, Json] = {}
    unknown: list[str] = []
    for value in values:
        if value.risk is not Effect.OUTPUT or (only is not None and value.key not in only):
            continue
        if isinstance(value.value, Unknown):
            unknown.append(f"{value.key} ({value.value.reason})")
        elif not isinstance(value.value, Absent):
            result[value.key] = open_value(value.value)
    if unknown:
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        return Unknown("not known before start: " + ", ".join(sorted(unknown)[:5]) + more)
    return result


def effective_digest(values: Iterable[EffectiveValue], only: Collection[str] | None = None) -> str | Unknown:
    """The digest of `effective_value`, or the same `Unknown`."""
    value = effective_value(values, only)
    return value if isinstance(value, Unknown) else digest(value)


def service_fingerprint(
    service: Service,
    *,
    effective: Iterable[EffectiveValue] | None = None,
    capture: Capture | None = None,
) -> Fingerprint:
    """The fingerprint of one service: its three configs, then what `effective` and `capture` add.

    Without `effective` or `capture` those layers are not part of it; with a capture, the layers it was asked
    for are. The set of layers is part of the fold, so a fold over four layers never equals one over eight.
    """
    layers: dict[str, str | Unknown] = {}
    for tier, config in (
        ("base", service.base),
        ("sampling", service.sampling),
        ("prompts", service.prompts),
    ):
        layers[tier] = _config_layer(tier, config)
    if effective is not None:
        layers["effective"] = effective_digest(effective)
    if capture is not None:
        layers.update(capture.digests())
    return Fingerprint(layers)


def _config_layer(tier: str, config: Config | None) -> str | Unknown:
    if config is None:
        return Unknown(f"the {tier} config does not load")
    try:
        return config_digest(config)
    except Unreadable as err:
        return Unknown(err.message)
