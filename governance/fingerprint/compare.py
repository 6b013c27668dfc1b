"""Two captures compared: which layers are the same, and each difference, the ones that shape answers first.

- Two captures may know a layer in two ways: an environment and a list, an index and a manifest. Then equal
  facts are not proof: the layer is `unknown` and says what is missing. Differing facts are `changed` all the
  same.
- Packages are ranked by `affecting.py`; two hundred harmless ones do not hide the one kernel library.
- Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from governance.fingerprint.affecting import OS_OUTPUT, effect_of, why_affecting
from governance.fingerprint.image import Image, same_image
from governance.fingerprint.layers import OBSERVED, compare
from governance.fingerprint.model_files import role
from governance.fingerprint.packages import Package, Packages
from governance.fingerprint.platform import Platform, parts
from governance.fingerprint.record import Capture
from governance.fingerprint.versions import normal_version
from governance.fingerprint.weights import Weights
from governance.values import ABSENT, Effect, Json, Tree, Unknown, Value
from governance.verdict import Change, LayerState


def compare_captures(left: Capture, right: Capture) -> tuple[LayerState, ...]:
    """One state per layer that either capture has, in the order of the layers."""
    states = compare(left.fingerprint(), right.fingerprint())
    return tuple(_judge(state, left, right) for state in states)


def _judge(state: LayerState, left: Capture, right: Capture) -> LayerState:
    """`changed` by digest may be a layer that each side knows in another way."""
    if state.state != "changed":
        return state
    before, after = getattr(left, state.name), getattr(right, state.name)
    doubt = ""
    if isinstance(before, Packages) and isinstance(after, Packages) and before.form != after.form:
        if "program" in (before.form, after.form):
            doubt = "one side is a Python environment, the other a program with its libraries"
            return LayerState(state.name, "unknown", state.before, state.after, doubt)
        forms = f"{before.form} and {after.form}"
        doubt = "" if _package_changes(before, after) else f"{forms} agree as far as both go"
    elif (
        isinstance(before, Weights) and isinstance(after, Weights) and bool(before.files) != bool(after.files)
    ):
        doubt = (
            "" if _revisions_differ(before, after) else "one side names a commit only, the other files only"
        )
    elif isinstance(before, Image) and isinstance(after, Image) and before.mounts == after.mounts:
        found = same_image(before, after)
        if found is True:
            detail = "the same image by another of its digests"
            return LayerState(state.name, "same", state.before, state.after, detail)
        doubt = found.reason if isinstance(found, Unknown) else ""
    return LayerState(state.name, "unknown", state.before, state.after, doubt) if doubt else state


def _revisions_differ(before: Weights, after: Weights) -> bool:
    return bool(before.revision and after.revision and before.revision != after.revision)


def capture_changes(left: Capture, right: Capture) -> tuple[Change, ...]:
    """Every difference of two captures; within a layer those that shape answers come first."""
    changes: list[Change] = []
    for name in OBSERVED:
        found = list(_layer_changes(name, getattr(left, name), getattr(right, name)))
        changes += sorted(found, key=lambda change: (-change.risk.rank, change.key))
    return tuple(changes)


def _layer_changes(name: str, before: object, after: object) -> Iterator[Change]:
    if isinstance(before, Packages) and isinstance(after, Packages):
        yield from _package_changes(before, after)
    elif isinstance(before, Weights) and isinstance(after, Weights):
        yield from _weight_changes(before, after)
    elif isinstance(before, Platform) and isinstance(after, Platform):
        yield from _platform_changes(before, after)
    elif isinstance(before, Image) and isinstance(after, Image):
        yield from _image_changes(before, after)
    elif before is not None and after is not None:
        yield Change(name, name, _side(before), _side(after), effect="cannot be compared")


def _side(value: object) -> Value:
    return value if isinstance(value, Unknown) else "known"


def _package_changes(before: Packages, after: Packages) -> list[Change]:
    left, right = ({(p.name, p.marker): p for p in side.packages} for side in (before, after))
    with_record = before.form == after.form == "environment"
    changes = []
    for key in sorted(set(left) | set(right)):
        old, new = left.get(key), right.get(key)
        if old is None or new is None or not _same_package(old, new, with_record=with_record):
            shown = with_record and old is not None and new is not None and old.version == new.version
            changes.append(_package_change(key, _shown(old, record=shown), _shown(new, record=shown)))
    conda_left, conda_right = (
        {c.name: f"{c.version} {c.build}" for c in side.conda} for side in (before, after)
    )
    if before.form == after.form:
        changes += [
            _package_change((f"conda {n}", ""), conda_left.get(n, ABSENT), conda_right.get(n, ABSENT))
            for n in sorted(set(conda_left) | set(conda_right))
            if conda_left.get(n) != conda_right.get(n)
        ]
    return changes


def _package_change(key: tuple[str, str], before: Value, after: Value) -> Change:
    name, marker = key
    plain = name.removeprefix("conda ")
    return Change(
        layer="packages",
        key=f"{name} ; {marker}" if marker else name,
        before=before,
        after=after,
        risk=effect_of(plain),
        effect=why_affecting(plain),
    )


def _same_package(old: Package, new: Package, *, with_record: bool) -> bool:
    if old.doubt or new.doubt:
        return False
    known = (normal_version(old.version or ""), old.vcs, old.archive)
    return known == (normal_version(new.version or ""), new.vcs, new.archive) and (
        not with_record or old.record == new.record
    )


def _shown(package: Package | None, *, record: bool) -> Value:
    if package is None:
        return ABSENT
    if package.doubt:
        return Unknown(package.doubt)
    text = package.version or package.vcs or package.archive or package.url
    return f"{text} (RECORD {(package.record or 'none')[:12]})" if record else text


def _weight_changes(before: Weights, after: Weights) -> Iterator[Change]:
    if before.model != after.model or (
        before.revision != after.revision and not (before.files and after.files)
    ):
        effect = "other files, or the same under another commit"
        yield Change("weights", "revision", _named(before), _named(after), effect=effect)
    left, right = ({f.name: f for f in side.files} for side in (before, after))
    for name in sorted(set(left) | set(right)) if left and right else ():
        old, new = left.get(name), right.get(name)
        if old is None or new is None or (old.size, old.blake3) != (new.size, new.blake3):
            yield Change(
                "weights",
                name,
                ABSENT if old is None else old.blake3,
                ABSENT if new is None else new.blake3,
                effect=f"{role(name)} of the model",
            )


def _named(weights: Weights) -> str:
    return f"{weights.model}@{weights.revision}" if weights.model else weights.revision


def _platform_changes(before: Platform, after: Platform) -> Iterator[Change]:
    left, right = (_flat(parts(side)) for side in (before, after))
    for key in sorted(set(left) | set(right)):
        old, new = left.get(key, ABSENT), right.get(key, ABSENT)
        if isinstance(old, Unknown) or isinstance(new, Unknown) or old != new:
            yield Change("platform", key, old, new, risk=Effect.OUTPUT, effect=_platform_effect(key))


def _flat(found: Mapping[str, Tree | Unknown]) -> dict[str, Json | Unknown]:
    result: dict[str, Json | Unknown] = {}
    for part, value in found.items():
        if isinstance(value, Unknown):
            result[part] = value
        else:
            result.update({f"{part}.{key}": item for key, item in value.items()})
    return result


def _platform_effect(key: str) -> str:
    part, _, name = key.partition(".")
    if part == "variables":
        from governance.tiers.rules.variables import variable

        return variable(name).reason
    if part == "os packages":
        return why_affecting(name, OS_OUTPUT)
    return {
        "driver": "compiles and schedules kernels",
        "gpu": "chooses kernels and their order of sums",
        "framework": "libraries the kernels are built on",
        "interpreter": "runs the engine",
        "cpu": "chooses kernels",
    }.get(part, "")


def _image_changes(before: Image, after: Image) -> Iterator[Change]:
    if same_image(before, after) is not True:
        yield Change(
            "image", "manifest", _digest_of(before), _digest_of(after), effect="everything in the image"
        )
    old, new = ({m.target: m.digest for m in side.mounts} for side in (before, after))
    for target in sorted(set(old) | set(new)):
        if old.get(target) != new.get(target):
            yield Change(
                "image",
                f"mounts.{target}",
                old.get(target, ABSENT),
                new.get(target, ABSENT),
                effect="laid over the image",
            )


def _digest_of(image: Image) -> str:
    return image.manifest or ", ".join(image.reported)
