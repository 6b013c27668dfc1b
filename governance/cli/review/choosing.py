"""What `review approve` is about: the commit being made, this branch, a range, a commit; and whose key signs.

- The comparison is the one the gate makes, so that what is approved is what the gate asks for.
- A key is taken from `--key`, else from git's `user.signingkey`, else from the agent: there the one key that
  belongs to somebody in the policy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from governance.errors import Unreadable, Usage

if TYPE_CHECKING:
    from governance.adapters.git import Git
    from governance.review.approving import Signer
    from governance.review.gate import Landing
    from governance.review.landings import Where
    from governance.review.policy import Policy


@contextmanager
def landing(place: Where, *, between: str, revision: str, base: str) -> Iterator[Landing]:
    """The landing to approve. Without any name: this branch with what is staged, where it is to land; on the
    branch it lands on, the commit being made.
    """
    from governance.adapters import git_history as history
    from governance.review import landings, verbs

    if between:
        with landings.of_range(place, between) as found:
            yield found
        return
    if revision:
        yield landings.of_commit(place, revision)
        return
    git = place.git
    if not git.has_commits():
        yield landings.of_index(place)
        return
    if not base and git.staged(*place.prefixes) and _stopped_here(place, history.head_branch(git)):
        yield landings.of_index(place)
        return
    _refuse_unstaged(place)
    target = base or verbs.target_of(place)
    same = git.resolve(target) == git.resolve("HEAD")
    yield landings.of_index(place) if same else verbs.of_branch(place, target)


def _refuse_unstaged(place: Where) -> None:
    """Raise `Usage` when governed files are edited and none is staged: after a stopped `commit -a` the edit
    is what is meant, and the last commit is what would be signed.
    """
    git = place.git
    if git.staged(*place.prefixes):
        return
    status, out, _ = git.ask("diff-files", "--name-only", "-z", "--", *place.prefixes)
    edited = [name for name in out.decode("utf-8", "surrogateescape").split("\0") if name]
    if status == 0 and edited:
        raise Usage(
            f"`{edited[0]}` is edited and nothing is staged: it is not clear what you approve",
            hint=f"git add {edited[0]}   (or name what is meant: --commit HEAD)",
        )


def _stopped_here(place: Where, branch: str) -> bool:
    """Whether the gate stops commits on this branch, so that the commit itself is what needs approval."""
    from governance.fingerprint.states import State
    from governance.review.policy import Policy, has_policy, protected

    settings = State(place.tree("HEAD")).settings()
    return has_policy(settings) and bool(branch) and protected(Policy.of(settings), branch)


def policy_at_head(place: Where) -> Policy:
    """The policy of the last commit. Raises `Unreadable` when there is none."""
    from governance.fingerprint.states import State
    from governance.review.policy import Policy, has_policy

    settings = State(place.tree("HEAD")).settings()
    if not has_policy(settings):
        raise Unreadable("there is no review policy at HEAD", hint="tierlock review simulate")
    return Policy.of(settings)


def signer(place: Where, policy: Policy, key: str, *, namespace: str = "") -> Signer:
    """Whoever signs with `key`, or with the key git or the agent names; by default for approvals."""
    from governance.adapters import ssh
    from governance.review.approving import Signer, signer_of

    chosen = key or _configured(place.git) or _of_agent(policy)
    public = ssh.public_key_of(chosen)
    keyid = ssh.fingerprint(public)
    person = signer_of(policy, keyid, public)
    space = namespace or ssh.NAMESPACE
    return Signer(person, keyid, lambda data: ssh.sign(data, chosen, space, tell=_tell), ssh.verify)


def _configured(git: Git) -> str:
    """The key of git's `user.signingkey`, when that is an SSH key."""
    from governance.adapters import sshsig

    status, out, _ = git.ask("config", "--get", "user.signingkey")
    value = out.decode("utf-8", "surrogateescape").strip().removeprefix("key::")
    if status != 0 or not value:
        return ""
    if sshsig.key_words(value) is not None:
        return value
    path = Path(value).expanduser()
    is_ssh = git.ask("config", "--get", "gpg.format")[1].strip() == b"ssh" or path.is_file()
    return str(path) if is_ssh else ""


def _of_agent(policy: Policy) -> str:
    from governance.adapters import ssh

    held = ssh.agent_keys()
    known = [one for one in held if policy.person_of_key(ssh.fingerprint(one)) is not None]
    people = {policy.person_of_key(ssh.fingerprint(one)) for one in known}
    if len(people) == 1:
        return known[0]
    if known:
        raise Usage(
            f"the agent holds keys of {len(people)} people of the policy",
            hint="name one: --key ~/.ssh/id_ed25519.pub",
        )
    raise Unreadable(
        f"there is no key to sign with: git names none, and none of the agent's {len(held)} is in the policy",
        hint="--key ~/.ssh/id_ed25519, or: git config user.signingkey ~/.ssh/id_ed25519.pub",
    )


def reason(given: str, show: Callable[[], None]) -> str:
    """Why, as given or as typed after the change was shown. Raises `Usage` where nobody can be asked."""
    from governance.review.strict import reason_fault

    text = given.strip()
    if not given:
        if not sys.stdin.isatty():
            raise Usage("no reason is given", hint='say why: --reason "measured on the full suite"')
        show()
        import click

        text = click.prompt("Why do you accept this", default="", show_default=False, err=True).strip()
        if not text:
            raise Usage("without a reason nothing is signed", hint='say why: --reason "…"')
    if fault := reason_fault(text):
        raise Usage(f"that cannot be the reason: {fault}")
    return text


def _tell(line: str) -> None:
    from governance.cli.output import write
    from governance.report.escape import plain

    write(sys.stderr, f"ssh-keygen: {plain(line)}\n")
