"""What a run says: pass, block or undecided, and why. The one place where an eval is judged.

- Nothing answered is "not evaluated", never a score. Below the floor of coverage the run is inconclusive,
  whatever the answers that came are worth.
- A smoke suite holds invariants: one failing item blocks. Beside golden's snapshot an item that golden fails
  as well is told and blocks nothing; what golden passes may not be lost.
- Any other suite is judged by `min_score`: the whole Wilson interval above it passes, below it blocks, and in
  between so many more items are needed. Without a bar nothing is judged.
- Answers from more than one server are a mixture: they speak for none of them.
- Answers that were cut at their limit, and those that needed another try, count and are told.
- Pure: a run and its suite in, checks out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from governance.engines.keys import look
from governance.evals.deciding import decide
from governance.evals.model import Run, Suite
from governance.evals.statistics import Pairs, items_for_rate, wilson
from governance.evals.tally import Tally, listed, tally
from governance.records import dataclass
from governance.verdict import Check, Outcome

if TYPE_CHECKING:
    from governance.tiers.config import Service

SMOKE: Final = "smoke"
FULL: Final = "full"
MIN_COVERAGE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Bar:
    """What a run must reach. `max_drop` is the loss against golden that is accepted; None: nobody says."""

    min_coverage: float = MIN_COVERAGE
    min_score: float | None = None
    max_drop: float | None = None


def bar_of(service: Service) -> Bar:
    """The bar that tierlock.yaml sets for `service`."""
    values = (look(service.tree, f"evals.{name}") for name in ("min_coverage", "min_score", "max_drop"))
    coverage, score, drop = (float(v) if isinstance(v, int | float) else None for v in values)
    return Bar(MIN_COVERAGE if coverage is None else coverage, score, drop)


def kind_of(service: Service, suite: str) -> str:
    """What the suite is to the service: `smoke`, `full`, else its own name."""
    for kind in (SMOKE, FULL):
        if look(service.tree, f"evals.{kind}") == suite:
            return kind
    return suite


def judge(
    run: Run, suite: Suite, *, kind: str, bar: Bar | None = None, golden: Run | None = None
) -> tuple[Check, ...]:
    """What `run` says of the service, in checks.

    `kind` is `smoke`, `full` or the name of the suite; `golden` is the snapshot of the golden release for the
    same suite.
    """
    bar = bar or Bar()
    if run.suite_digest != suite.digest:
        detail = (
            f"the results are of the suite {run.suite_digest[:12]}, `{suite.name}` is {suite.digest[:12]}"
        )
        return (Check("suite", Outcome.UNDECIDED, detail),)
    seen = tally(run, suite)
    answered = _answered(seen, bar)
    if seen.answered == 0:
        return (answered,)
    return (answered, *_one_server(seen), *_scored(seen, bar, kind), *_judged(run, seen, kind, bar, golden),
            *_told(seen))  # fmt: skip


def _answered(seen: Tally, bar: Bar) -> Check:
    if seen.items == 0:
        return Check("answered", Outcome.UNDECIDED, "not evaluated: the suite has no item")
    if seen.answered == 0:
        return Check(
            "answered",
            Outcome.UNDECIDED,
            f"not evaluated: none of {seen.items} items was answered, {seen.ends()}",
        )
    told = f"{seen.answered} of {seen.items} items answered"
    if seen.coverage < bar.min_coverage:
        floor = f"coverage {seen.coverage:.3f}, at least {bar.min_coverage:g} is needed"
        return Check("answered", Outcome.UNDECIDED, f"inconclusive: {told}, {floor}: {seen.ends()}")
    return Check("answered", Outcome.PASS, f"{told}, {seen.ends()}" if seen.states else told)


def _one_server(seen: Tally) -> Iterator[Check]:
    if len(seen.servers) > 1:
        told = ", ".join(f"`{name}` ({count})" for name, count in seen.servers.items())
        detail = f"a mixture: the answers come from {len(seen.servers)} servers: {told}"
        yield Check("one server", Outcome.UNDECIDED, detail)


def _scored(seen: Tally, bar: Bar, kind: str) -> Iterator[Check]:
    """What was answered and could not be scored: each counts for a smoke suite, the share for others."""
    if not seen.unscored:
        return
    name, reason = next(iter(seen.unscored.items()))
    why = f"{len(seen.unscored)} answered and not scored: {listed(seen.unscored)} (`{name}`: {reason})"
    bad = kind == SMOKE or seen.scored < bar.min_coverage * seen.answered
    yield Check("scored", Outcome.UNDECIDED if bad else Outcome.PASS, why)


def _judged(run: Run, seen: Tally, kind: str, bar: Bar, golden: Run | None) -> Iterator[Check]:
    if seen.scored == 0:
        return
    if golden is not None and golden.suite_digest != run.suite_digest:
        detail = f"golden's snapshot is of another suite: {golden.suite_digest[:12]}"
        yield Check("golden", Outcome.UNDECIDED, detail)
        golden = None
    if kind == SMOKE:
        yield _invariants(seen, golden)
        return
    yield _score(seen, bar)
    if golden is not None:
        yield _against(run, golden, bar)


def _invariants(seen: Tally, golden: Run | None) -> Check:
    """Every item of a smoke suite must pass, unless golden fails it too."""
    told = f"{seen.passed} of {seen.scored} right"
    if golden is None:
        if seen.failing:
            return Check("items", Outcome.BLOCK, f"{told}, failing: {listed(seen.failing)}")
        return Check("items", Outcome.PASS, told)
    before = {result.item: result.score.passed for result in golden.results}
    lost = [name for name in seen.failing if before.get(name) is not False]
    known = [name for name in seen.failing if before.get(name) is False]
    told += f", golden {sum(passed is True for passed in before.values())}, {len(lost)} lost"
    told += f": {listed(lost)}" if lost else ""
    told += f"; failing in golden too: {listed(known)}" if known else ""
    return Check("items", Outcome.BLOCK if lost else Outcome.PASS, told)


def _score(seen: Tally, bar: Bar) -> Check:
    interval = wilson(seen.passed, seen.scored)
    told = (
        f"{seen.passed} of {seen.scored} right: {seen.passed / seen.scored:.3f} "
        f"({interval.low:.3f} to {interval.high:.3f})"
    )
    if bar.min_score is None:
        return Check("score", Outcome.UNDECIDED, f"{told}; no bar is set: `evals.min_score` in tierlock.yaml")
    told += f", at least {bar.min_score:g} is needed"
    if seen.coverage < bar.min_coverage:
        return Check("score", Outcome.UNDECIDED, f"{told}; not judged: too few items were answered")
    if interval.low >= bar.min_score:
        return Check("score", Outcome.PASS, told)
    if interval.high < bar.min_score:
        return Check("score", Outcome.BLOCK, told)
    return Check("score", Outcome.UNDECIDED, f"{told}; {_more(seen, bar.min_score)}")


def _more(seen: Tally, bar: float) -> str:
    wanted = items_for_rate(seen.passed, seen.scored, bar=bar)
    if wanted is None or wanted <= seen.scored:
        return "the score is on the bar: no number of items would tell"
    more = wanted - seen.scored
    return f"{more:,} more item{'s' * (more != 1)} needed to tell"


def _against(run: Run, golden: Run, bar: Bar) -> Check:
    """The paired loss against golden; told alone when no `max_drop` is set."""
    before = _passed(golden)
    after = _passed(run)
    lost = [name for name, passed in after.items() if not passed and before.get(name)]
    gained = [name for name, passed in after.items() if passed and before.get(name) is False]
    told = f"{len(lost)} lost, {len(gained)} gained against golden"
    told += f"; lost: {listed(lost)}" if lost else ""
    if bar.max_drop is None:
        return Check("golden", Outcome.PASS, told)
    common = [name for name in after if name in before]
    both = sum(before[name] and after[name] for name in common)
    neither = len(common) - both - len(lost) - len(gained)
    verdict = decide(Pairs(both, len(lost), len(gained), neither), margin=bar.max_drop)
    told += (
        f"; loss {verdict.pairs.loss:+.3f}, surely at most {verdict.at_most:.3f}, {bar.max_drop:g} accepted"
    )
    if verdict.outcome is Outcome.UNDECIDED and verdict.more is not None:
        told += f"; {verdict.more:,} more item{'s' * (verdict.more != 1)} needed to tell"
    return Check("golden", verdict.outcome, told)


def _passed(run: Run) -> Mapping[str, bool]:
    return {r.item: r.score.passed for r in run.results if r.score.passed is not None}


def _told(seen: Tally) -> Iterator[Check]:
    """What counts, and should be known."""
    if seen.truncated:
        count = len(seen.truncated)
        detail = f"{count} cut at the limit of tokens: {listed(seen.truncated)}"
        yield Check("cut answers", Outcome.PASS, detail)
    if seen.retried:
        yield Check("retried", Outcome.PASS, f"{len(seen.retried)} tried again: {listed(seen.retried)}")
