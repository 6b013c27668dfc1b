"""What evals say of a release by now, and whether it may be, or is still, golden.

- Evidence speaks for a release when it was made for its fingerprint, no layer that both sides know differs,
  and the server that answered was as declared. A run against a drifted server says nothing of the release.
- Among what speaks, the newest run of a kind counts (`smoke`, `full`). A later one that fails takes the
  status away, whoever made it; one that passes after that does not give it back: `golden set` does.
- A failing run whose server was not read back leaves the status in doubt: undecided, not revoked.
- Pure: a source and values in, values out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from governance.evals.evidence import Filed, filed_for
from governance.fingerprint.layers import LAYERS
from governance.release.golden import Entry, Proof
from governance.verdict import Outcome

if TYPE_CHECKING:
    from governance.adapters.files import FileSource
    from governance.release.record import Record
    from governance.values import Unknown

SMOKE: Final = "smoke"
KINDS: Final = (SMOKE, "full")
"""The kinds of suites whose runs decide; others are told nowhere here."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """The evidence on one release, oldest first: what speaks for it, and what does not with the reason."""

    speaking: tuple[Filed, ...] = ()
    aside: tuple[tuple[Filed, str], ...] = ()

    def newest(self, kind: str) -> Filed | None:
        """The newest run of that kind which decided anything."""
        decided = [
            one for one in self.speaking
            if one.evidence.kind == kind and one.evidence.outcome is not Outcome.UNDECIDED
        ]  # fmt: skip
        return decided[-1] if decided else None

    def last_smoke(self) -> Filed | None:
        """The newest smoke run that passed."""
        passed = [
            one for one in self.speaking
            if one.evidence.kind == SMOKE and one.evidence.outcome is Outcome.PASS
        ]  # fmt: skip
        return passed[-1] if passed else None


class Status(Enum):
    """What an entry of the golden pointer is by now."""

    GOLDEN = "golden"
    REVOKED = "revoked"
    DOUBTED = "in doubt"


@dataclass(frozen=True, slots=True)
class Standing:
    """The status of an entry, why, and the path of the run that says so, if any."""

    status: Status
    reason: str = ""
    evidence: str = ""


def spoken_for(source: FileSource, record: Record) -> Spoken:
    """The evidence in `source` on the fingerprint of `record`. Raises as `filed_for`."""
    filed = filed_for(source, record.service, record.fingerprint)
    return sorted_out(filed, record.layers)


def sorted_out(filed: Iterable[Filed], layers: Mapping[str, str | Unknown]) -> Spoken:
    """`filed` by whether it speaks for a release with these `layers`."""
    speaking, aside = [], []
    for one in filed:
        if why := why_not(one, layers):
            aside.append((one, why))
        else:
            speaking.append(one)
    return Spoken(tuple(speaking), tuple(aside))


def why_not(one: Filed, layers: Mapping[str, str | Unknown]) -> str:
    """Why a piece of evidence does not speak for a release with these `layers`; empty when it does."""
    found = one.evidence
    moved = [name for name in LAYERS if name in found.layers and isinstance(layers.get(name), str)
             and found.layers[name] != layers[name]]  # fmt: skip
    if moved:
        return f"it was made with another {', '.join(moved)}"
    if found.differing:
        more = f" and {len(found.differing) - 3} more" if len(found.differing) > 3 else ""
        return f"the server was not as declared: {', '.join(found.differing[:3])}{more}"
    return ""


def proof_of(one: Filed) -> Proof:
    """The evidence as an entry of the pointer names it."""
    return Proof(one.path, one.digest, one.evidence.suite, one.evidence.kind, one.evidence.ended_at)


def standing_of(entry: Entry, spoken: Spoken) -> Standing:
    """What `entry` is, given all evidence on its release."""
    if entry.revoked is not None:
        why = entry.revoked
        return Standing(Status.REVOKED, f"revoked at {why.at} by {why.by}: {why.reason}", why.evidence)
    known = {proof.path for proof in entry.evidence}
    since = entry.proven_at or entry.set_at
    later = [
        one for one in spoken.speaking
        if one.evidence.kind in KINDS and one.evidence.outcome is Outcome.BLOCK and one.path not in known
        and one.evidence.ended_at >= since
    ]  # fmt: skip
    if not later:
        return Standing(Status.GOLDEN)
    one = next((each for each in reversed(later) if each.evidence.compared is not None), later[-1])
    found = one.evidence
    fault = next((check.detail for check in found.checks if check.outcome is Outcome.BLOCK), "")
    told = f"a {found.kind} run that ended {found.ended_at} fails" + (f": {fault}" if fault else "")
    if found.compared is None:
        return Standing(Status.DOUBTED, f"{told}; its server was not read back", one.path)
    return Standing(Status.REVOKED, told, one.path)
