"""Reports of the gate as it really makes them, from files in memory and fixed people: the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from governance.adapters.files import FileSource, MemoryTree
from governance.review.gate import Bench, Enforced, Landing, judge_landing
from governance.review.model import Authors, Evidence, Identity, Judged, Subject
from governance.review.policy import Policy
from governance.review.telling import report
from governance.verdict import Report
from tests.support.governed import FILES

NOW: Final = datetime(2026, 11, 2, 9, tzinfo=UTC)
KEY: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{:A<43}="
POLICY: Final = f"""\
review:
  people:
    author-a: {{keys: ["{KEY.format("Author")}"], emails: [author-a@example.org]}}
    reviewer-a: {{keys: ["{KEY.format("ReviewerOne")}"]}}
    reviewer-b: {{keys: ["{KEY.format("ReviewerTwo")}"]}}
  roles: {{platform: [author-a, reviewer-a, reviewer-b]}}
  base: {{approvals: 1, from: [platform], on_output_change: 2}}
  sampling: {{approvals: 1, from: [platform]}}
  prompts: {{approvals: 1, from: [platform]}}
  protected: [main]
"""
BEFORE: Final = {**FILES, "tierlock.yaml": FILES["tierlock.yaml"] + POLICY}
HOSTILE: Final = 'x`|y\n::error title=a::b%0A, c:d <img src=x> @all "]]>\x1b[31m\u202e'

Change = Mapping[str, str | None]
ONE_VALUE: Final[Change] = {
    "configs/sampling/factual.yaml": FILES["configs/sampling/factual.yaml"].replace("0.2", "0.9")
}
# Files that are gone have to be told as well, and have no line left to point at.
GONE: Final[Change] = {
    **ONE_VALUE,
    "configs/prompts/summarize.yaml": None,
    "configs/prompts/summarize/system.md": None,
    "tierlock.yaml": BEFORE["tierlock.yaml"].replace("prompts: {approvals: 1", "prompts: {approvals: 0"),
}
WORDS: Final[Change] = {"configs/prompts/summarize/system.md": f"You answer briefly.\n{HOSTILE}\n"}
LAYOUT: Final[Change] = {
    "configs/sampling/factual.yaml": f"# a comment\n{FILES['configs/sampling/factual.yaml']}"
}


def gate(change: Change, *, by: Mapping[str, str] | None = None, ref: str = "refs/heads/main") -> Report:
    """The report on `change`. `by`: who approved it, each with why it does not count, if so."""
    before = MemoryTree({path: text.encode() for path, text in BEFORE.items()})
    texts = {path: text for path, text in {**BEFORE, **change}.items() if text is not None}
    after = MemoryTree({path: text.encode() for path, text in texts.items()})
    before.label, after.label = "revision 1a2b3c", "index"
    author = Identity("Author A", "author-a@example.org", "author")
    landing = Landing(
        "the commit being made on main", after, before, ref=ref, enforced=Enforced.AT_COMMIT,
        who={path: [author] for path in change}, approvals=(after,),
    )  # fmt: skip
    return report("review gate", [judge_landing(landing, _bench(by or {}))])


def _bench(by: Mapping[str, str]) -> Bench:
    def read(_: FileSource, subjects: Sequence[Subject]) -> list[Evidence]:
        return [
            Evidence(
                "signature", person, one.key, one.before, one.after, one.scheme, "f" * 64, "measured",
                NOW, NOW + timedelta(days=30), where=f".tierlock/approvals/{one.name}/{person}.json",
            )
            for one in subjects
            for person in by
        ]  # fmt: skip

    def judge(evidence: Evidence, _: Subject, __: Policy, ___: Authors, ____: datetime) -> Judged:
        why = by[evidence.person]
        return Judged(evidence, accepted=not why, why=why)

    return Bench(NOW, judge, read)


def without_policy() -> Report:
    """The report where nothing says who has to approve."""
    before = MemoryTree({path: text.encode() for path, text in FILES.items()})
    after = MemoryTree(
        {**{p: t.encode() for p, t in FILES.items()}, "configs/sampling/factual.yaml": b"kind: sampling\n"}
    )
    before.label, after.label = "revision 1a2b3c", "revision 4d5e6f"
    landing = Landing("commit 4d5e6f", after, before, approvals=(after,))
    return report("review gate", [judge_landing(landing, _bench({}))])


REVIEWS: Final = {
    "blocked": gate(ONE_VALUE),
    "gone": gate(GONE),
    "approved": gate(ONE_VALUE, by={"reviewer-a": ""}),
    "refused": gate(ONE_VALUE, by={"reviewer-b": "it was made for another change"}),
    "elsewhere": gate(ONE_VALUE, ref="refs/heads/topic"),
    "layout": gate(LAYOUT),
    "no_policy": without_policy(),
    "hostile": gate({**WORDS, f"configs/sampling/{HOSTILE}.yaml": "x\n"}, by={HOSTILE: HOSTILE}),
}
