"""`tierlock release unhold`: let a fingerprint be released again."""

from __future__ import annotations

from pathlib import Path

import click

from governance.adapters import clock
from governance.cli.options import reporting, root, service_names
from governance.cli.output import Output
from governance.verdict import Check, Outcome, Report


@click.command("unhold")
@click.argument("service", shell_complete=service_names)
@click.argument("held", metavar="[RELEASE|FINGERPRINT]", required=False, default="")
@click.option("--reason", required=True, help="What was mended; kept beside the hold.")
@click.option("--by", metavar="NAME", default="", help="Who lifts it. Default: who git would name.")
@click.option("--commit", is_flag=True, help="Commit what is written, and nothing else that is staged.")
@root
@reporting
def command(
    service: str,
    held: str,
    reason: str,
    by: str,
    commit: bool,
    root: str | None,
    output: Output,  # noqa: ARG001
) -> Report:
    """Lift the hold that a rollback of SERVICE has set on a fingerprint, with a reason.

    Until then the fingerprint is not released again. The hold stays in its file with who lifted it, and why.
    Without RELEASE or FINGERPRINT the only hold that stands is meant.

    \b
    Examples:
      tierlock release unhold summarizer --reason "the engine is fixed in 0.8.3"
      tierlock release unhold summarizer c93e11d0475b --reason "golden was wrong" --commit
    """
    from governance.adapters.files import WorkTree, write_atomic
    from governance.cli.release.naming import actor, commit_here
    from governance.cli.repository import find
    from governance.release import holds
    from governance.release.sides import Place

    place = Place(find(root or ""))
    before = holds.read_holds(WorkTree(place.root), service)
    one = holds.choose(before, held)
    who = by or actor(place)
    after = holds.lift(before, one, at=clock.stamp(), by=who, reason=reason)
    write_atomic(Path(place.root) / after.path, holds.dump(after))
    notes = [f"  wrote      {after.path}"]
    message = f"unhold {service} {one.label}"
    following = f'git add {after.path} && git commit -m "{message}"'
    if commit:
        notes.append(f"  commit     {commit_here(place, [after.path], message)}")
        following = f"tierlock release cut {service}"
    return Report(
        "release unhold",
        title=f"{service}   {one.label}",
        checks=(Check("hold", Outcome.PASS, f"lifted by {who}: {reason}"),),
        notes=tuple(notes),
        summary=f"{one.label} may be released again",
        next=following,
    )
