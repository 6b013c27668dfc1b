"""`tierlock review gate`: may it land?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from governance.cli.options import reporting, root
from governance.cli.output import Output
from governance.cli.review import judging
from governance.cli.review.forges import with_forge
from governance.verdict import Report

if TYPE_CHECKING:
    from governance.review.forge import Request
    from governance.review.gate import Bench
    from governance.review.landings import Where


@click.command("gate")
@click.option("--staged", is_flag=True, help="Judge the commit being made. The default.")
@click.option("--commit", "revision", metavar="REV", default="", help="Judge one commit.")
@click.option("--range", "between", metavar="BASE..HEAD", default="", help="Judge what HEAD brings to BASE.")
@click.option("--push", is_flag=True, help="Judge the lines that git gives pre-push or pre-receive on stdin.")
@click.option("--ref", metavar="BRANCH", default="", help="With --range: where it lands, if it is protected.")
@click.option("--remote", metavar="NAME", default="", help="With --push: the remote that is pushed to.")
@click.option(
    "--ci", "system", type=click.Choice(("github", "gitlab")), help="Judge what the CI run is about."
)
@click.option("--bootstrap", is_flag=True, help="Accept a first review policy where there was none.")
@click.option(
    "--folder", metavar="FOLDER", default="", help="Where a bare repository has its governed files."
)
@with_forge
@root
@reporting
def command(
    staged: bool,
    revision: str,
    between: str,
    push: bool,
    ref: str,
    remote: str,
    system: str | None,
    bootstrap: bool,
    folder: str,
    forge: tuple[Request, ...],
    root: str | None,
    output: Output,  # noqa: ARG001
) -> Report:
    """Judge whether a change has the approvals it needs.

    Every config, binding and policy that moves needs approvals for exactly this digest before and after,
    under the policy of the base revision. At commit time protected branches are enforced, and others told
    what will be needed; a range and a push to a protected branch are always enforced.

    \b
    Examples:
      tierlock review gate                               the commit being made
      tierlock review gate --range origin/main..HEAD     in CI
      tierlock review gate --range origin/main..HEAD --forge github
      tierlock review gate --commit HEAD
      tierlock review gate --ci github                   base and head from the event, history fetched
      tierlock review gate --push --remote origin        in git's own pre-push hook
    """
    chosen = staged + bool(revision) + bool(between) + push + bool(system)
    if chosen > 1:
        raise click.UsageError("--staged, --commit, --range, --push and --ci exclude each other: name one")
    if (ref and not between) or (remote and not push):
        raise click.UsageError("--ref goes with --range, --remote with --push")
    bench = judging.bench(forge)
    place = judging.where(root or "", folder)
    if system:
        return _of_ci(place, bench, system, bootstrap=bootstrap)
    return _judged(place, bench, revision, between, push, ref=ref, remote=remote, bootstrap=bootstrap)


def _judged(
    place: Where,
    bench: Bench,
    revision: str,
    between: str,
    push: bool,
    *,
    ref: str,
    remote: str,
    bootstrap: bool,
) -> Report:
    from governance.review import verbs

    if push:
        return verbs.gate_push(place, bench, judging.standard_input(), remote=remote)
    if between:
        full = f"refs/heads/{ref}" if ref and not ref.startswith("refs/") else ref
        return verbs.gate_range(place, bench, between, bootstrap=bootstrap, ref=full)
    if revision:
        return verbs.gate_commit(place, bench, revision, bootstrap=bootstrap)
    return judging.gate_of_hook(place, bench, os.environ, bootstrap=bootstrap)


def _of_ci(place: Where, bench: Bench, system: str, *, bootstrap: bool) -> Report:
    from governance.adapters.files import read_file
    from governance.review.ci import gate_ci

    return gate_ci(place, bench, system, os.environ, read_file, bootstrap=bootstrap)
