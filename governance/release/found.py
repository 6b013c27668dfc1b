"""What one comparison found, gathered until it becomes a report.

- A difference is information: the outcome is pass, unless a difference shall block.
- What could not be compared is undecided, whatever else was found; it never counts as equal.
"""

from __future__ import annotations

from governance.records import dataclass, field, replace
from governance.values import Effect, Json
from governance.verdict import Change, Check, Finding, LayerState, Outcome, Report, sort_findings

SAME: str = "no difference"


@dataclass(slots=True)
class Found:
    """The parts of the report to be.

    `undecided` is (what, why); `open` says why equality cannot be claimed though nothing differs;
    `same_meaning` says what differs all the same.
    """

    title: str = ""
    layers: list[LayerState] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    undecided: list[tuple[str, str]] = field(default_factory=list)
    open: str = ""
    same_meaning: str = ""
    next: str = ""
    run: dict[str, Json] = field(default_factory=dict)

    def report(self, *, fail_on_difference: bool) -> Report:
        """The report, with its outcome decided."""
        different = bool(self.changes) or any(layer.state == "changed" for layer in self.layers)
        outcome = Outcome.BLOCK if different and fail_on_difference else Outcome.PASS
        if self.open and fail_on_difference and not different:
            self.undecided.append(("effective", self.open))
        checks = [Check("compared", outcome, self._said(different))]
        checks += [Check(what, Outcome.UNDECIDED, why) for what, why in self.undecided]
        return Report(
            "diff",
            title=self.title,
            checks=tuple(checks),
            findings=sort_findings(dict.fromkeys(self.findings)),
            layers=tuple(self.layers),
            changes=tuple(self.changes),
            notes=tuple(self.notes),
            summary=self._summary(different),
            next=self.next,
            run=self.run,
        )

    def _summary(self, different: bool) -> str:
        said = self._said(different)
        if not self.undecided:
            return said
        what, why = self.undecided[0]
        return f"{what}: {why}" + (f"; {said}" if different else "")

    def _said(self, different: bool) -> str:
        if not different:
            return f"same meaning: {self.same_meaning}" if self.same_meaning else SAME
        risk = max(
            (change.risk for change in self.changes), key=lambda effect: effect.rank, default=Effect.OUTPUT
        )
        layers = list(dict.fromkeys([c.layer for c in self.changes])) or [
            layer.name for layer in self.layers if layer.state == "changed"
        ]
        count = len(self.changes)
        changes = f"{count} change{'s' * (count != 1)}"
        where = ", ".join(layers[:4]) + (f" and {len(layers) - 4} more" if len(layers) > 4 else "")
        return f"{changes} in {where}; risk: {risk.value}"


def turned(change: Change) -> Change:
    """The change seen from the other side."""
    return replace(
        change,
        before=change.after,
        after=change.before,
        before_from=change.after_from,
        after_from=change.before_from,
    )
