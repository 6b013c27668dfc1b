"""The part of the demo without a server: a silent edit meets the review, and is approved by another key.

- Everything is done with the real commands in a repository of its own: real commits through a real hook, real
  keys from ssh-keygen. What they print is what is shown.
- Each scene fails when what it tells did not happen; without git or ssh-keygen it is undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from governance.adapters.demo_repository import DemoRepository, Said
from governance.errors import TierlockError
from governance.verdict import Check, Outcome, Report

AUTHOR: Final = "author-a"
REVIEWER: Final = "reviewer-a"
CONFIG: Final = "sampling/factual"
FILE: Final = f"configs/{CONFIG}.yaml"
_BEFORE: Final = b"temperature: 0.1\n"
_AFTER: Final = b"temperature: 0.2\n"
_MESSAGE: Final = "make summaries richer"
_REASON: Final = "richer summaries, full suite unchanged"
_POLICY: Final = """\
review:
  people:
    author-a: {{keys: ["{author}"], emails: [author-a@example.org]}}
    reviewer-a: {{keys: ["{reviewer}"], emails: [reviewer-a@example.org]}}
  roles: {{platform: [author-a, reviewer-a]}}
  base: {{approvals: 1, from: [platform]}}
  sampling: {{approvals: 1, from: [platform]}}
  prompts: {{approvals: 1, from: [platform]}}
  protected: [main]
"""


def scenes(repository: DemoRepository, files: Mapping[str, bytes]) -> Iterator[Report]:
    """The scenes in order, in a repository that starts with `files` and a policy of two people."""
    try:
        repository.start(_with_policy(repository, files))
        yield _edited(repository)
        yield _approved(repository)
        yield _audited(repository)
    except TierlockError as err:
        yield Report(
            "demo",
            title="a review",
            checks=(Check("review", Outcome.UNDECIDED, err.message),),
            summary=f"the scenes of review are left out: {err.message}",
            next=err.hint,
        )


def _with_policy(repository: DemoRepository, files: Mapping[str, bytes]) -> dict[str, bytes]:
    policy = _POLICY.format(author=repository.key(AUTHOR), reviewer=repository.key(REVIEWER))
    return {**files, "tierlock.yaml": files["tierlock.yaml"].rstrip() + b"\n" + policy.encode()}


def _edited(repository: DemoRepository) -> Report:
    """One value is edited, and the commit on the protected branch does not come about."""
    file = repository.path / FILE
    file.write_bytes(file.read_bytes().replace(_BEFORE, _AFTER))
    head = repository.must("rev-parse", "HEAD")
    repository.must("add", FILE)
    said = repository.git("commit", "-m", _MESSAGE)
    stopped = said.code != 0 and repository.must("rev-parse", "HEAD") == head
    named = all(word in said.text for word in ("temperature", REVIEWER, f"review approve {CONFIG}"))
    return scene(
        "somebody edits `temperature` and commits on main",
        checked("the commit is stopped", stopped, "the commit came about"),
        checked("and it is said why", named, "value, reviewer or command is not named"),
        notes=[*_shown(f'git commit -m "{_MESSAGE}"', said)],
        summary="one line in one file, still in the range of its task: only the review noticed",
    )


def _approved(repository: DemoRepository) -> Report:
    """The author may not approve it; another person's key may, and then the same commit passes."""
    words = ("review", "approve", CONFIG, "--reason", _REASON, "--key")
    own = repository.tierlock(*words, str(repository.private_key(AUTHOR)))
    other = repository.tierlock(*words, str(repository.private_key(REVIEWER)))
    repository.must("add", "-A")
    landed = repository.git("commit", "-m", _MESSAGE)
    shown = f"tierlock review approve {CONFIG} --key"
    return scene(
        "it is approved with another key, and committed",
        checked("not by its author", own.code == 1, "the author's own approval was taken"),
        checked("by a reviewer", other.code == 0, "the reviewer's approval was not taken"),
        checked("the commit passes", landed.code == 0, "the commit is still stopped"),
        notes=[
            *_shown(f"{shown} {AUTHOR}", own),
            "",
            *_shown(f"{shown} {REVIEWER}", other),
            "",
            *_shown(f'git commit -m "{_MESSAGE}"', landed),
        ],
        summary="the signature is for this value before and after, and for nothing else",
    )


def _audited(repository: DemoRepository) -> Report:
    """Hooks can be skipped; the audit asks the history itself."""
    said = repository.tierlock("review", "audit")
    clean = said.code == 0 and " late" not in said.text  # a late approval makes good and stays marked
    return scene(
        "what has landed, audited",
        checked("the audit is clean", clean, "the audit found something"),
        notes=[*_shown("tierlock review audit", said)],
        summary="nothing has landed without approval",
    )


def scene(title: str, *checks: Check, notes: Iterable[str], summary: str) -> Report:
    """One scene: its summary is said when everything it tells has happened."""
    good = all(check.outcome is Outcome.PASS for check in checks)
    return Report("demo", title=title, checks=checks, notes=tuple(notes), summary=summary if good else "")


def checked(name: str, good: bool, otherwise: str) -> Check:
    """The check `name`, with `otherwise` as what is said when it is not good."""
    return Check(name, Outcome.PASS if good else Outcome.BLOCK, "" if good else otherwise)


def _shown(command: str, said: Said) -> Iterator[str]:
    """A command with what it printed, indented so that it is shown as it is."""
    yield f"  $ {command}"
    yield from (f"    {line}" for line in said.lines)
