"""`tierlock review` without the command line: the repository, the bench, and the hook.

- The hook comes through here without click, so nothing heavy is imported at the top.
- Approvals are read, and ssh-keygen asked, only when something governed moves.
- What pre-commit hands over (a range, a pushed branch) is judged, not the index.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from governance.cli.repository import below, find
from governance.verdict import Report

if TYPE_CHECKING:
    from datetime import datetime

    from governance.adapters.files import FileSource
    from governance.review.forge import Request
    from governance.review.gate import Bench
    from governance.review.landings import Where
    from governance.review.model import Authors, Evidence, Judged, Subject
    from governance.review.policy import Policy

APPROVALS = ".tierlock/approvals"


def hook() -> int:
    """The exit code of `tierlock review gate`, its report shown."""
    from governance.cli.output import Finished, Output, deliver

    report = gate_of_hook(where(""), bench(), os.environ)
    deliver(Finished(report, Output()))
    return int(report.exit_code)


def gate_of_hook(
    place: Where, bench: Bench, environ: Mapping[str, str], *, bootstrap: bool = False
) -> Report:
    """The report on what git or pre-commit is about: the commit being made, or what pre-commit names."""
    from governance.review import verbs

    old, new = environ.get("PRE_COMMIT_FROM_REF", ""), environ.get("PRE_COMMIT_TO_REF", "")
    remote, branch = environ.get("PRE_COMMIT_REMOTE_NAME", ""), environ.get("PRE_COMMIT_REMOTE_BRANCH", "")
    if branch.startswith("refs/"):
        pushed = new or place.git.resolve(environ.get("PRE_COMMIT_LOCAL_BRANCH", "HEAD"))
        nothing = "0" * len(pushed)
        line = f"{branch} {place.git.resolve(pushed)} {branch} {place.git.resolve(old) if old else nothing}\n"
        return verbs.gate_push(place, bench, line.encode("utf-8", "surrogateescape"), remote=remote)
    if old and new:
        return verbs.gate_range(place, bench, f"{old}..{new}", bootstrap=bootstrap)
    return verbs.gate_index(place, bench, bootstrap=bootstrap)


def where(root: str, folder: str = "") -> Where:
    """The repository at `root` (default: here or above; in a bare one, its own folder). `folder` is where in
    it the governed files lie, for a bare one, which has no folder to stand in.
    """
    from governance.adapters.git import Git, find_root
    from governance.review.landings import Where

    place = find(root)
    top = find_root(place)
    return Where(Git(top), folder.strip("/") or below(top, place), os.environ)


def bench(forge: Iterable[Request] = ()) -> Bench:
    """The moment, and the judge with real signatures."""
    from governance.adapters import clock
    from governance.review.gate import Bench

    return Bench(clock.now(), judge, _read, tuple(forge))


def standard_input() -> bytes:
    """All of standard input."""
    return sys.stdin.buffer.read()


def _read(source: FileSource, subjects: Sequence[Subject]) -> Iterable[Evidence]:
    if not source.entries(APPROVALS):
        return ()
    from governance.review.approval import read_approvals

    return read_approvals(source, subjects)


def judge(evidence: Evidence, subject: Subject, policy: Policy, authors: Authors, now: datetime) -> Judged:
    """`approval.judge` with ssh-keygen as the verifier."""
    from governance.adapters import ssh
    from governance.review import approval

    return approval.judge(evidence, subject, policy, authors, now, ssh.verify)
