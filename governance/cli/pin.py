"""`tierlock resolve --write`: the floating decoding values, written into the sampling config as they are.

- Only the text changes that has to: an `inherit` is replaced, a missing key is added at the end; comments,
  order and everything else stay. The result is read and checked before it is written.
- A value that the schema cannot hold (a random seed, an unknown) is left floating and named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from governance.adapters.files import WorkTree, write_atomic
from governance.engines.services import floating, named
from governance.errors import Unreadable
from governance.tiers.config import Config, load_repository
from governance.tiers.reader import Reading, read_yaml
from governance.tiers.validate import validate
from governance.tiers.writer import dump
from governance.values import Json, Tree
from governance.verdict import EffectiveValue, Outcome, Report

_PREFIX = "sampling."


def pin(root: str, service: str, report: Report) -> Report:
    """`report` with what was pinned in the work tree at `root`; as it is when it is undecided."""
    if report.outcome is not Outcome.PASS:
        return report
    repository = load_repository(WorkTree(root))
    config = named(repository, service).sampling
    if config is None:
        raise Unreadable(f"the sampling config of `{service}` does not load", hint="tierlock check")
    wanted = [value for value in floating(report.values) if value.key.startswith(_PREFIX)]
    text, pinned, left = pinned_text(config, wanted)
    if pinned:
        write_atomic(Path(root) / config.path, text.encode())
    others = [
        name for name, other in repository.services.items() if other.sampling is config and name != service
    ]
    notes = [f"pinned  {_PREFIX}{key} in {config.path}" for key in pinned]
    notes += [f"left    {key}: {why}" for key, why in left.items()]
    notes += [f"{config.id} is used by {', '.join(others)} too"] if others else []
    count = f"{len(pinned)} values pinned in {config.path}"
    return replace(report, notes=(*report.notes, *notes), summary=count, next=f"tierlock check {config.path}")


def pinned_text(config: Config, wanted: Sequence[EffectiveValue]) -> tuple[str, list[str], dict[str, str]]:
    """The new text of `config`, the keys it now pins, and those left floating with the reason."""
    left: dict[str, str] = {}
    values = {value.key.removeprefix(_PREFIX): value for value in wanted}
    while True:
        text, pinned = _edited(config, values)
        refused = _refused(text, config)
        bad = [key for key in values if key in refused or key.partition(".")[0] in refused]
        if not bad:
            return text, pinned, left
        for key in bad:
            left[key] = refused.get(key) or refused[key.partition(".")[0]]
            del values[key]


def _refused(text: str, config: Config) -> Mapping[str, str]:
    """What reading and schema say against `text`, by key."""
    reading = read_yaml(text.encode(), config.path)
    _, findings = validate(config.id.tier, reading)
    return {finding.key: finding.message for finding in (*reading.findings, *findings) if finding.blocks}


def _edited(config: Config, values: Mapping[str, EffectiveValue]) -> tuple[str, list[str]]:
    lines = config.reading.text.split("\n")
    added: dict[str, Json] = {}
    pinned = []
    for key, value in values.items():
        head, _, rest = key.partition(".")
        if _replace(lines, config.reading, head, rest, value) or _add(added, config.tree, head, rest, value):
            pinned.append(key)
    text = "\n".join(lines)
    if added:
        text = f"{text.rstrip(chr(10))}\n{dump(added)}"
    return text, pinned


def _replace(lines: list[str], reading: Reading, head: str, rest: str, value: EffectiveValue) -> bool:
    """Put the value in the place of a top-level `inherit`."""
    place = reading.marks.value((head,))
    if rest or place is None or value.source != "inherit":
        return False
    line, column = place[0] - 1, place[1] - 1
    before, word = lines[line][:column], lines[line][column : column + len("inherit")]
    if word != "inherit":
        return False
    shown = dump({"k": value.value}).removeprefix("k:").strip()  # type: ignore[dict-item]
    if "\n" in shown:
        return False
    lines[line] = before + shown + lines[line][column + len(word) :]
    return True


def _add(added: dict[str, Json], tree: Tree, head: str, rest: str, value: EffectiveValue) -> bool:
    """Collect a key that the config does not have yet."""
    if head in tree:
        return False
    if not rest:
        added[head] = value.value  # type: ignore[assignment]
        return True
    group = added.setdefault(head, {})
    if not isinstance(group, dict):
        return False
    group[rest] = value.value
    return True
