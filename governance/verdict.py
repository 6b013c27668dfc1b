"""What judging yields: findings, checks, changes, one outcome, and the report that carries them.

- A verdict over zero checks is `undecided`; `undecided` never opens a gate.
- `block` outranks `undecided`, which outranks `pass`: a known fault is not hidden by an unknown.
- The exit code is a property of the report. Nothing else decides it and no flag changes it.
- Pure values; no I/O, no clock. `generated_at` is handed in.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, IntEnum

from governance.records import dataclass, field
from governance.values import ABSENT, Effect, Json, Unknown, Value

REPORT_SCHEMA = "tierlock.report/1"


class Outcome(Enum):
    PASS = "pass"  # noqa: S105 - a verdict
    BLOCK = "block"
    UNDECIDED = "undecided"


class ExitCode(IntEnum):
    """The exit table; all other codes are reserved."""

    PASS = 0
    BLOCK = 1
    USAGE = 2
    UNDECIDED = 3
    BUG = 70
    INTERRUPTED = 130


EXIT_CODES = {
    Outcome.PASS: ExitCode.PASS,
    Outcome.BLOCK: ExitCode.BLOCK,
    Outcome.UNDECIDED: ExitCode.UNDECIDED,
}


class Severity(Enum):
    """`error` blocks; `warning` and `note` are shown and block nothing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a rule saw.

    `path` is relative to the repository with forward slashes; `line` and `column` count from 1 and are 0
    when a whole file is meant; `excerpt` is the source line, `width` the length of the marked part.
    `exempted` holds the reason of the exemption that excuses it: still shown, blocks nothing.
    """

    code: str
    message: str
    severity: Severity = Severity.ERROR
    path: str = ""
    line: int = 0
    column: int = 0
    key: str = ""
    hint: str = ""
    excerpt: str = ""
    width: int = 0
    exempted: str = ""

    @property
    def blocks(self) -> bool:
        return self.severity is Severity.ERROR and not self.exempted

    @property
    def order(self) -> tuple[str, int, int, str, str, str]:
        """The one order findings are shown in."""
        return (self.path, self.line, self.column, self.code, self.key, self.message)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was judged, its outcome, and what was seen."""

    name: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """One semantic difference in one layer: what it was, what it is, where each came from, what it does.

    `before` and `after` are JSON values, `ABSENT` or `Unknown`. `text` is a ready word diff (lines with
    invisible characters made visible) for free text. `effect` is one sentence on the output.
    """

    layer: str
    key: str
    before: Value = ABSENT
    after: Value = ABSENT
    before_from: str = ""
    after_from: str = ""
    risk: Effect = Effect.OUTPUT
    effect: str = ""
    path: str = ""
    line: int = 0
    column: int = 0
    text: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LayerState:
    """One layer on one side (`after` unset) or on both sides of a comparison.

    `state` is `same`, `changed`, `unknown`, or `present` when there is one side only.
    """

    name: str
    state: str
    before: str | Unknown | None = None
    after: str | Unknown | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class EffectiveValue:
    """One value the server will use, or uses, and where it comes from."""

    key: str
    value: Value
    source: Value = ABSENT
    provenance: str = ""
    risk: Effect = Effect.OUTPUT
    note: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What every use case returns and every renderer takes. Empty parts are left out when shown.

    `outcome` is derived from `checks` (see `decide`); `summary` is the closing sentence after the verdict;
    `next` is the one command to run now; `run` holds plain facts about the run (tool version, inputs).
    """

    command: str
    title: str = ""
    checks: tuple[Check, ...] = ()
    findings: tuple[Finding, ...] = ()
    layers: tuple[LayerState, ...] = ()
    values: tuple[EffectiveValue, ...] = ()
    changes: tuple[Change, ...] = ()
    scores: tuple[Json, ...] = ()
    notes: tuple[str, ...] = ()
    summary: str = ""
    next: str = ""
    generated_at: str = ""
    run: dict[str, Json] = field(default_factory=dict)

    @property
    def outcome(self) -> Outcome:
        return decide(self.checks)

    @property
    def exit_code(self) -> ExitCode:
        return EXIT_CODES[self.outcome]


def decide(checks: Iterable[Check]) -> Outcome:
    """The one outcome of `checks`: any block blocks, else any undecided or no check at all is undecided."""
    outcomes = {check.outcome for check in checks}
    if Outcome.BLOCK in outcomes:
        return Outcome.BLOCK
    if Outcome.UNDECIDED in outcomes or not outcomes:
        return Outcome.UNDECIDED
    return Outcome.PASS


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings by path, line, column, code."""
    return tuple(sorted(findings, key=lambda f: f.order))
