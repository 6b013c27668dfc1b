"""What is about to land, from git itself: the index, a commit, a range, the lines of a push.

- The index is compared with HEAD. When nothing is staged, the last commit is judged instead: an amended
  message or a run in CI is not passed over.
- A range is compared twice: what the author changed (merge base to head) and what will land (the merge of
  both, compared with the base as it is now). The policy is the one at the base as it is now.
- A pushed ref is compared with what it is on the other side. A new one is compared with where it left the
  nearest protected branch there. A deletion or a replaced history of a protected branch is a finding.
- A merge brings what others made: whoever merges is an author only of what none of the parents has.
- What is not here (shallow history, an unknown remote tip) is an error with the command that gets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from governance.adapters import git_history as history
from governance.adapters.git import Git, IndexTree, RevisionTree
from governance.adapters.git_trouble import shallow
from governance.errors import IncompleteHistory, Unreadable, Usage
from governance.fingerprint.states import State
from governance.records import dataclass, replace
from governance.review.authors import ident, identities
from governance.review.gate import Enforced, Landing
from governance.review.model import Identity
from governance.review.policy import Policy, has_policy, protected
from governance.tiers.config import GOVERNED

if TYPE_CHECKING:
    from governance.adapters.files import FileSource

HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Where:
    """The repository: `folder` is the governed root inside of it, `environ` what git told its hook."""

    git: Git
    folder: str = ""
    environ: Mapping[str, str] | None = None

    def tree(self, revision: str, git: Git | None = None, *, oid: str = "") -> RevisionTree:
        """The governed files of one commit."""
        return RevisionTree(git or self.git, revision, GOVERNED, folder=self.folder, oid=oid)

    def index(self) -> IndexTree:
        """The governed files of the commit being made."""
        return IndexTree(self.git, GOVERNED, folder=self.folder)

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The governed paths as git knows them, from its top level."""
        above = f"{self.folder}/" if self.folder else ""
        return tuple(f"{above}{part}" for part in GOVERNED)

    def inner(self, path: str) -> str:
        """A path of git as one of the governed root."""
        return path.removeprefix(f"{self.folder}/") if self.folder else path

    def made(self, before: str | None, after: str) -> dict[str, list[Identity]]:
        """Who touched which governed path between two commits."""
        found: dict[str, list[Identity]] = {}
        for commit in history.commits_between(self.git, before, after, self.prefixes):
            people = identities(commit.raw)
            for path in commit.paths:
                found.setdefault(self.inner(path), []).extend(people)
        return found


@dataclass(frozen=True, slots=True)
class PushedRef:
    """One line of a push: a ref on the other side, what it is and what it would be; None for nothing."""

    ref: str
    old: str | None
    new: str | None


def of_index(where: Where, *, bootstrap: bool = False) -> Landing:
    """The commit being made; the last commit when nothing is staged."""
    git = where.git
    branch = history.head_branch(git)
    name = branch.removeprefix(HEADS) or "a detached HEAD"
    head = git.find("HEAD")
    if head is None and not git.has_commits():
        after = where.index()
        return Landing(
            f"the first commit on {name}", after, ref=branch, enforced=Enforced.AT_COMMIT,
            approvals=(after,), bootstrap=bootstrap, unborn=True,
        )  # fmt: skip
    staged = git.staged()
    merging = history.merging(git, where.environ or {})
    if not staged and not merging:
        last = of_commit(where, "HEAD", bootstrap=bootstrap)
        label = f"nothing is staged; the last commit on {name}"
        return replace(last, label=label, ref=branch, enforced=Enforced.AT_COMMIT)
    before, after = where.tree("HEAD", oid=head or ""), where.index()
    who = committing(where, merging, [one.path for one in staged])
    return Landing(
        f"the commit being made on {name}", after, before, ref=branch, enforced=Enforced.AT_COMMIT,
        who=who, approvals=(after,), bootstrap=bootstrap,
    )  # fmt: skip


def of_commit(where: Where, revision: str, *, bootstrap: bool = False) -> Landing:
    """One commit against its first parent: what it brought to the line it stands on.

    The other parents of a merge say who made what it brings.
    """
    git = where.git
    oid = git.resolve(revision)
    parents = history.parents_of(history.raw_commits(git, [oid])[0])
    after = where.tree(revision, oid=oid)
    label = f"commit {oid[:12]}"
    if not parents:
        return Landing(
            label, after, who=where.made(None, oid), approvals=(after,), bootstrap=bootstrap,
            unborn=True,
        )  # fmt: skip
    if git.find(parents[0]) is None:
        raise _absent(git, f"the parent of {oid[:12]}, {parents[0][:12]},", parents[0])
    before = where.tree(parents[0], oid=parents[0])
    return Landing(
        label, after, before, who=where.made(parents[0], oid), approvals=(after,),
        bootstrap=bootstrap,
    )  # fmt: skip


@contextmanager
def of_range(where: Where, text: str, *, bootstrap: bool = False, ref: str = "") -> Iterator[Landing]:
    """`BASE..HEAD` (or with three dots): both comparisons in one landing, readable inside the `with`.

    Raises `Usage` when it is no range, `Unreadable` when nothing would land or the merge is in conflict.
    """
    git = where.git
    base, head = _ends(text)
    tip, top = git.resolve(base), git.resolve(head)
    start = git.merge_base(tip, top)
    if start == top:
        raise Unreadable(
            f"`{text}` is empty: `{head}` has nothing that `{base}` has not",
            hint="name the branch the change lands on as the base: tierlock review gate --range main..HEAD",
        )
    after, now = where.tree(head, oid=top), where.tree(base, oid=tip)
    landing = Landing(
        f"{base}..{head}", after, now, ref=ref, who=where.made(tip, top),
        approvals=(after, now), bootstrap=bootstrap,
    )  # fmt: skip
    if start == tip:
        yield landing
        return
    with history.merged(git, tip, top) as (apart, tree, conflicts):
        _refuse_conflicts(where, conflicts, base)
        result = where.tree(tree, apart, oid=tree)
        result.label = f"merge of {head} into {base}"
        current = where.tree(base, apart, oid=tip)
        made = (where.tree(start, oid=start), after)
        yield replace(landing, after=result, before=current, base=now, more=(made,))


def of_push(where: Where, refs: Sequence[PushedRef], *, remote: str = "") -> list[Landing]:
    """One landing per ref that a push updates or creates. `remote` is the name of the other side; empty on
    the receiving side itself.
    """
    return [_of_pushed(where, one, remote) for one in refs if one.new is not None]


def parse_push(given: bytes) -> list[PushedRef]:
    """The lines git writes to pre-push (`local id remote id`) or pre-receive (`old new ref`).

    Raises `Unreadable` on anything else.
    """
    found = []
    for line in given.decode("utf-8", "surrogateescape").splitlines():
        words = line.split(" ")
        if len(words) == 4:
            new, ref, old = words[1], words[2], words[3]
        elif len(words) == 3:
            old, new, ref = words
        else:
            raise _no_push_line(line)
        if not (_is_id(old) and _is_id(new) and ref.startswith("refs/")):
            raise _no_push_line(line)
        found.append(PushedRef(ref, _or_none(old), _or_none(new)))
    return found


def policy_of_ref(where: Where, ref: PushedRef, remote: str = "") -> Policy | None:
    """The policy that holds for a pushed ref: of what it is now; of the nearest protected branch when it is
    new. Raises `IncompleteHistory` when what it is now is not here: a deletion would pass unjudged.
    """
    source: FileSource | None = None
    tracked = f"refs/remotes/{remote}/{ref.ref.removeprefix(HEADS)}"
    if ref.old is None:
        near = _nearest(where, ref, remote)
        source = where.tree(near[1], oid=near[1]) if near is not None else None
    elif where.git.find(ref.old) is not None:
        source = where.tree(ref.old, oid=ref.old)
    elif remote and (tip := where.git.find(tracked)) is not None:
        source = where.tree(tip, oid=tip)
    else:
        raise _unknown_tip(ref, remote)
    settings = State(source).settings() if source is not None else {}
    return Policy.of(settings) if has_policy(settings) else None


def _of_pushed(where: Where, one: PushedRef, remote: str) -> Landing:
    git = where.git
    assert one.new is not None
    if git.find(one.new) is None:
        raise Unreadable(f"`{one.ref}` would become {one.new[:12]}, which is not a commit here")
    after = where.tree(one.new, oid=git.resolve(one.new))
    name = one.ref.removeprefix(HEADS)
    if one.old is not None:
        if git.find(one.old) is None:
            raise _unknown_tip(one, remote)
        before = where.tree(one.old, oid=one.old)
        return Landing(
            f"push to {name}", after, before, ref=one.ref, enforced=Enforced.BY_BRANCH,
            who=where.made(one.old, after.oid), approvals=(after,),
        )  # fmt: skip
    near = _nearest(where, one, remote)
    if near is None:
        return Landing(
            f"push of the new {name}", after, ref=one.ref, enforced=Enforced.BY_BRANCH,
            who=where.made(None, after.oid), approvals=(after,), unborn=True,
        )  # fmt: skip
    ref, tip, start = near
    before, base = where.tree(start, oid=start), where.tree(tip, oid=tip)
    base.label = f"{ref.removeprefix(HEADS).removeprefix('refs/remotes/')} ({tip[:12]})"
    return Landing(
        f"push of the new {name}", after, before, base, ref=one.ref, enforced=Enforced.BY_BRANCH,
        who=where.made(tip, after.oid), approvals=(after, base),
    )  # fmt: skip


def _nearest(where: Where, one: PushedRef, remote: str) -> tuple[str, str, str] | None:
    """Of the branches on the other side that their own policy protects, the one a new ref left last: its
    name, its tip and the commit both have. None when there is none.
    """
    git = where.git
    top = f"refs/remotes/{remote}/" if remote else HEADS
    found = []
    for name, tip in history.refs(git, top).items():
        branch = name.removeprefix(top)
        if HEADS + branch == one.ref or branch == "HEAD":
            continue
        settings = State(where.tree(tip, oid=tip)).settings()
        if not has_policy(settings) or not protected(Policy.of(settings), branch):
            continue
        status, out, _ = git.ask("merge-base", tip, str(one.new))
        if status == 0:
            start = out.decode().split("\n", 1)[0]
            found.append((history.count_between(git, start, str(one.new)), name, tip, start))
        elif git.is_shallow():
            raise shallow(f"where `{one.ref}` left `{name}`")
    return min(found)[1:] if found else None


def committing(
    where: Where, merging: Sequence[str] = (), staged: Iterable[str] | None = None
) -> dict[str, list[Identity]]:
    """Who made what is staged: whoever commits, but for what a merge brings, which its own authors made.

    `staged` are the staged paths as git knows them, where the caller has them.
    """
    git = where.git
    here = [one for role, text in history.idents(git).items() if (one := ident(text, role)) is not None]
    listed = (one.path for one in git.staged(*where.prefixes)) if staged is None else staged
    governed = {where.inner(path) for path in listed if path.startswith(where.prefixes)}
    brought: dict[str, list[Identity]] = {}
    own = set(governed)
    for parent in merging:
        own &= {where.inner(one.path) for one in git.staged_against(parent, *where.prefixes)}
        for path, people in where.made("HEAD", parent).items():
            brought.setdefault(path, []).extend(people)
    return {path: [*brought.get(path, ()), *(here if path in own else ())] for path in governed}


def _ends(text: str) -> tuple[str, str]:
    base, dots, head = text.partition("...") if "..." in text else text.partition("..")
    if not dots or ".." in head:
        raise Usage(f"`{text}` is not a range", hint="write it as BASE..HEAD, for example origin/main..HEAD")
    return base or "HEAD", head or "HEAD"


def _refuse_conflicts(where: Where, conflicts: Iterable[str], base: str) -> None:
    inside = [path for path in conflicts if path.startswith(where.prefixes)]
    if inside:
        raise Unreadable(
            f"what will land cannot be known: `{where.inner(inside[0])}` is in conflict with `{base}`",
            where=where.inner(inside[0]),
            hint=f"git merge {base}     (resolve it, commit, and run this again)",
        )


def _absent(git: Git, what: str, oid: str) -> Unreadable | IncompleteHistory:
    if git.is_shallow():
        return shallow(what.rstrip(","))
    return IncompleteHistory(f"{what} is not in this clone", hint=f"git fetch origin {oid}")


def _unknown_tip(one: PushedRef, remote: str) -> IncompleteHistory:
    assert one.old is not None
    name = one.ref.removeprefix(HEADS)
    return IncompleteHistory(
        f"`{name}` is at {one.old[:12]} on the other side, and that commit is not here",
        hint=f"git fetch {remote or 'origin'} {name}",
    )


def _no_push_line(line: str) -> Unreadable:
    return Unreadable(
        f"`{line}` is no line of a push",
        where="standard input",
        hint="run this from git's pre-push or pre-receive hook: tierlock review install",
    )


def _is_id(word: str) -> bool:
    return len(word) in (40, 64) and not word.strip("0123456789abcdef")


def _or_none(oid: str) -> str | None:
    return oid if oid.strip("0") else None
