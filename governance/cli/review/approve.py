"""`tierlock review approve`: look at a change, and accept it with your key."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from governance.adapters import clock
from governance.adapters.files import WorkTree, write_all
from governance.cli.options import reporting, root
from governance.cli.output import Output
from governance.cli.repository import find
from governance.cli.review import choosing, judging
from governance.errors import Usage
from governance.review import approving
from governance.review.approving import Done, Plan, Terms
from governance.verdict import Report

if TYPE_CHECKING:
    from governance.review.landings import Where

RECORDS = ".tierlock/"


@click.command("approve")
@click.argument("configs", nargs=-1, metavar="[CONFIG]...")
@click.option("--reason", default="", help="Why it is accepted. Asked for on a terminal.")
@click.option("--expires", metavar="WHEN", default="", help="Until when it counts: 2026-12-31, 30d or 12h.")
@click.option(
    "--key", metavar="KEY", default="", help="A private or public SSH key. Default: git's, or the agent's."
)
@click.option(
    "--emergency", is_flag=True, help="Break the glass: short-lived, and a regular one must follow."
)
@click.option("--follow-up", is_flag=True, help="Give the regular approval that an emergency one still owes.")
@click.option(
    "--withdraw", is_flag=True, help="Take back what you approved. CONFIG may be an approval's path."
)
@click.option(
    "--range", "between", metavar="BASE..HEAD", default="", help="Approve what HEAD brings to BASE."
)
@click.option("--commit", "revision", metavar="REV", default="", help="Approve what one commit changed.")
@click.option(
    "--base", metavar="REV", default="", help="Where this branch lands. Default: the default branch."
)
@root
@reporting
def command(
    configs: tuple[str, ...],
    reason: str,
    expires: str,
    key: str,
    emergency: bool,
    follow_up: bool,
    withdraw: bool,
    between: str,
    revision: str,
    base: str,
    root: str | None,
    output: Output,
) -> Report:
    """Accept a change of configs, bindings or the policy, and sign that with your SSH key.

    The semantic diff that you accept is shown. The approval is bound to each config with its digest before
    and after, and lies in .tierlock/approvals/ until you commit it; it counts for nothing else. CONFIG is
    sampling/factual, service/summarizer or policy; without one, all that moves is approved.

    \b
    Examples:
      tierlock review approve sampling/factual --reason "measured on the full suite"
      tierlock review approve --range origin/main..HEAD --expires 30d
      tierlock review approve --emergency --reason "outage 42"
      tierlock review approve --follow-up
      tierlock review approve --withdraw sampling/factual --reason "numbers were wrong"
    """
    if (bool(between) + bool(revision) + bool(base) + follow_up) > 1:
        raise click.UsageError("--range, --commit, --base and --follow-up exclude each other: name one")
    if withdraw and (emergency or expires or follow_up):
        raise click.UsageError("--withdraw goes with none of --emergency, --expires and --follow-up")
    if follow_up and emergency:
        raise click.UsageError("--follow-up gives the regular approval: leave --emergency out")
    place = judging.where(root or "")
    asked = _Asked(place, root or "", reason, expires, key, output)
    if withdraw and any(name.startswith(RECORDS) for name in configs):
        return asked.withdraw_records(configs)
    if follow_up:
        return asked.follow_up(configs)
    with choosing.landing(place, between=between, revision=revision, base=base) as found:
        return asked.carry_out(
            approving.plan(found, asked.files, configs), emergency=emergency, withdraw=withdraw
        )


class _Asked:
    """One call: the repository, and what was said on the command line."""

    def __init__(self, place: Where, root: str, reason: str, expires: str, key: str, output: Output) -> None:
        self.place, self.root, self.output = place, find(root), output
        self.files = WorkTree(self.root)
        self.reason, self.expires, self.key = reason, expires, key
        self.now = clock.now()

    def carry_out(self, made: Plan, *, emergency: bool = False, withdraw: bool = False) -> Report:
        """Show what is planned, ask why, sign and write."""
        signer = choosing.signer(self.place, made.policy, self.key)
        terms = self._terms(lambda: self._show(made), emergency=emergency)
        return self._written(approving.withdraw(made, signer, terms) if withdraw
                             else approving.approve(made, signer, terms))  # fmt: skip

    def follow_up(self, names: Sequence[str]) -> Report:
        """Give the regular approvals that emergency ones still owe."""
        from governance.review import owed

        made = owed.plan(self.place, self.files, judging.judge, names)
        return self.carry_out(made)

    def withdraw_records(self, paths: Sequence[str]) -> Report:
        """Take back approvals that are named by their path."""
        from governance.review.approval import read_approvals

        given = {one.where: one for one in read_approvals(self.files)}
        for path in paths:
            if path not in given:
                raise Usage(f"`{path}` is not an approval in the work tree", hint="git status .tierlock")
        policy = choosing.policy_at_head(self.place)
        signer = choosing.signer(self.place, policy, self.key)
        terms = self._terms(lambda: None)
        return self._written(approving.withdraw_these([given[path] for path in paths], signer, terms))

    def _terms(self, show: Callable[[], None], *, emergency: bool = False) -> Terms:
        expires = approving.expiry(self.expires, self.now) if self.expires else None
        return Terms(choosing.reason(self.reason, show), self.now, expires, emergency)

    def _show(self, made: Plan) -> None:
        """The change on standard error, before anyone is asked why it is accepted."""
        from governance.cli.output import style, write
        from governance.report.content import hidden, without_secrets
        from governance.report.text import render

        report = without_secrets(approving.shown(made))
        write(sys.stderr, render(report if self.output.show_content else hidden(report), style(self.output)))

    def _written(self, done: Done) -> Report:
        write_all(Path(self.root), done.files)
        return done.report
