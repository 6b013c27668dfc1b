"""`tierlock review test`: the unit tests of the policy."""

from __future__ import annotations

from pathlib import Path

import click

from governance.cli.options import reporting, root
from governance.cli.output import Output
from governance.cli.repository import find, source
from governance.errors import Unreadable
from governance.verdict import Report


@click.command("test")
@click.argument("files", nargs=-1, type=click.Path(dir_okay=False))
@click.option("--rev", metavar="REV", default="", help="Test the policy of a commit, branch or tag.")
@root
@reporting
def command(files: tuple[str, ...], rev: str, root: str | None, output: Output) -> Report:  # noqa: ARG001
    """Run the unit tests of the review policy.

    FILES (default: review-tests.yaml beside tierlock.yaml) have cases: a change, who made it, who approved,
    and whether it must pass or block. A policy that was loosened by accident fails its own tests.

    \b
    Example of a case:
      cases:
        - name: nobody approves their own change
          change: sampling/factual          # or service/summarizer, or policy
          authors: [reviewer-a]
          approvals: [reviewer-a]
          expect: block

    \b
    Examples:
      tierlock review test
      tierlock review test policies/platform.yaml --rev origin/main
    """
    from governance.adapters import clock
    from governance.adapters.files import read_file
    from governance.fingerprint.states import State
    from governance.review import cases
    from governance.review.policy import Policy, has_policy
    from governance.verdict import Severity

    top = find(root or "")
    state = State(source(top, rev=rev))
    settings = state.settings()
    fault = next((one for one in state.findings if one.severity is Severity.ERROR), None)
    if fault is not None or not has_policy(settings):
        why = f"cannot be read: {fault.message}" if fault else "has no review policy"
        raise Unreadable(f"tierlock.yaml {why}", where="tierlock.yaml", hint="tierlock check")
    policy = Policy.of(settings)
    named = files or (str(Path(top) / cases.NAME),)
    reports = [
        cases.run(read_file(name, shown=Path(name).name), Path(name).name, policy, now=clock.now())
        for name in named
    ]
    return reports[0] if len(reports) == 1 else _joined(reports)


def _joined(reports: list[Report]) -> Report:
    return Report(
        "review test",
        checks=tuple(check for one in reports for check in one.checks),
        findings=tuple(finding for one in reports for finding in one.findings),
        summary="; ".join(one.summary for one in reports),
    )
