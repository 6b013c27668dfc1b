"""Whether what lies under `.tierlock/` is kept as records are: well-formed, unaltered, never taken away.

- Approvals, releases, snapshots and evidence are kept for ever: one may be added, none may change or go. A
  rename is one that goes and one that comes.
- A release may have a signature beside it (`v41.json.sig`), kept for ever like the record itself.
- Golden pointers and holds move: they only have to be well-formed. Schemas for editors are nobody's record.
- Anything else there is out of place; so is a link or a submodule.
- A record of a newer format is undecided. Whether a signature is right is judged where it counts (the gate).
- Pure but for `read`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Final

from governance.adapters.files import Kind
from governance.adapters.sshsig import parse
from governance.errors import NewerFormat, Unreadable
from governance.records import dataclass
from governance.review import statement
from governance.review.statement import EMERGENCY, WITHDRAWN, Withdrawal
from governance.tiers.reader import Reading, read_json, read_jsonl
from governance.tiers.structure import shown
from governance.verdict import Check, Finding, Outcome, Report, sort_findings

ROOT: Final = ".tierlock/"
RELEASES: Final = ".tierlock/releases/"
SIGNATURE: Final = ".json.sig"


class Kept(Enum):
    FOR_EVER = "for ever"
    MOVING = "moving"
    FREE = "free"


KINDS: Final = {
    "approvals": Kept.FOR_EVER,
    "releases": Kept.FOR_EVER,
    "snapshots": Kept.FOR_EVER,
    "evidence": Kept.FOR_EVER,
    "golden": Kept.MOVING,
    "holds": Kept.MOVING,
    "schemas": Kept.FREE,
}
"""How each folder below `.tierlock/` is kept."""


@dataclass(frozen=True, slots=True)
class Touched:
    """One path below `.tierlock/` that differs: what it was and is (None: not there), and whether its bytes
    are others.
    """

    path: str
    before: Kind | None
    after: Kind | None
    altered: bool = True


def check(
    touched: Iterable[Touched], read: Callable[[str], bytes], there: Callable[[str], bool], label: str
) -> Report:
    """The report on what differs. `read` and `there` are of the state after, `label` is what was compared."""
    findings: list[Finding] = []
    newer: list[NewerFormat] = []
    count = 0
    for one in touched:
        count += 1
        try:
            findings += _judged(one, read, there)
        except NewerFormat as err:
            newer.append(err)
    number = f"{count} record" if count == 1 else f"{count} records"
    said = f"{label}: {number} looked at" if count else f"{label} touches no record"
    bad = Outcome.BLOCK if findings else Outcome.PASS
    checks = [Check("records", bad, "" if findings else said)]
    checks += [Check(err.where, Outcome.UNDECIDED, err.message) for err in newer]
    summary = said
    if findings:
        summary = f"{len({one.path for one in findings})} of {number} cannot be kept"
    elif newer:
        summary = newer[0].message
    hint = next((one.hint for one in sort_findings(findings) if one.hint), newer[0].hint if newer else "")
    return Report("review records", checks=tuple(checks), findings=sort_findings(findings), summary=summary,
                  next=hint, run={"records": count})  # fmt: skip


def _judged(one: Touched, read: Callable[[str], bytes], there: Callable[[str], bool]) -> Iterator[Finding]:
    path, kept = shown(one.path), KINDS.get(one.path.removeprefix(ROOT).partition("/")[0])
    if kept is None or one.path.count("/") < 2:
        if one.after is not None:
            message = f"`{path}` is no record: nothing of tierlock's lies there"
            yield Finding("TL523", message, path=path, hint=f"git rm --cached {path}")
        return
    if kept is Kept.FREE:
        return
    if kept is Kept.FOR_EVER and one.before is Kind.FILE:
        if one.after is None:
            message = "the record is taken away; records are only ever added"
            yield Finding("TL522", message, path=path, hint=_restore(path))
        elif one.altered or one.after is not Kind.FILE:
            message = "the record is changed; what was recorded once stays as it is"
            yield Finding("TL521", message, path=path, hint=_restore(path))
        return
    if one.after is None:
        return
    if one.after is not Kind.FILE:
        message = f"the record is {_ARTICLES[one.after]}, not a file"
        yield Finding("TL523", message, path=path, hint="commit the file itself")
        return
    yield from _content(one.path, path, read, there)


def _content(
    path: str, name: str, read: Callable[[str], bytes], there: Callable[[str], bool]
) -> Iterator[Finding]:
    try:
        data = read(path)
        if path.startswith(statement.FOLDER):
            yield from _approval(path, name, data, there)
            return
    except Unreadable as err:
        yield Finding("TL520", err.message, path=name, hint=err.hint)
        return
    if path.startswith(RELEASES) and path.endswith(SIGNATURE):
        if parse(data.decode("ascii", "replace")) is None:
            message = "the signature of a release is not one as ssh-keygen writes it"
            yield Finding("TL520", message, path=name, hint=f"git rm --cached {name}")
        return
    if not path.endswith((".json", ".jsonl")):
        message = "a record is a .json or .jsonl file"
        yield Finding("TL523", message, path=name, hint=f"git rm --cached {name}")
        return
    for fault in _faults(read_jsonl(data, name) if path.endswith(".jsonl") else (read_json(data, name),)):
        message = f"the record is not well-formed: {fault.message} ({fault.code})"
        yield Finding("TL520", message, path=name, line=fault.line, column=fault.column,
                      hint="write records with tierlock, not by hand")  # fmt: skip


def _approval(path: str, name: str, data: bytes, there: Callable[[str], bool]) -> Iterator[Finding]:
    record = statement.load(data, path)
    if record.path != path:
        message = f"the approval lies in the place of another: it belongs in {shown(record.path)}"
        yield Finding("TL523", message, path=name, hint=f"git mv {name} {shown(record.path)}")
        return
    if isinstance(record.said, Withdrawal):
        stem = path.removesuffix(WITHDRAWN)
        if not (there(f"{stem}.json") or there(f"{stem}{EMERGENCY}")):
            message = f"it withdraws the approval {record.said.approval[:12]}, which is not there"
            yield Finding("TL524", message, path=name, hint="tierlock review approve --withdraw")


def _faults(readings: Iterable[Reading]) -> Iterator[Finding]:
    return (fault for reading in readings for fault in reading.findings if fault.blocks)


def _restore(path: str) -> str:
    return f"git restore --source=HEAD --staged --worktree -- {path}"


_ARTICLES: Final = {
    Kind.SYMLINK: "a symbolic link",
    Kind.SUBMODULE: "a submodule",
    Kind.OTHER: "something else",
}
