"""`tierlock release cut`: make a release of what is committed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from governance.adapters import clock
from governance.cli.options import reporting, root, service_names
from governance.cli.output import Output
from governance.cli.repository import find
from governance.records import replace
from governance.verdict import Report

if TYPE_CHECKING:
    from governance.release.cutting import Done
    from governance.release.record import Record
    from governance.release.sides import Place


@click.command("cut")
@click.argument("service", shell_complete=service_names)
@click.option(
    "--capture", "captured", type=click.Path(dir_okay=False), help="The layers of a capture file: the host."
)
@click.option("--reason", default="", help="Why it is released; kept in the record.")
@click.option("--by", metavar="NAME", default="", help="Who releases. Default: who git would name.")
@click.option(
    "--unreviewed", metavar="REASON", default="", help="Release without a review policy, because. Recorded."
)
@click.option("--sign", is_flag=True, help="Sign the record with your SSH key: git's, or the agent's.")
@click.option("--key", metavar="KEY", default="", help="Sign with this private or public SSH key.")
@click.option("--commit", is_flag=True, help="Commit what is written, and nothing else that is staged.")
@click.option("--dry-run", is_flag=True, help="Judge, and write nothing.")
@root
@reporting
def command(
    service: str,
    captured: str | None,
    reason: str,
    by: str,
    unreviewed: str,
    sign: bool,
    key: str,
    commit: bool,
    dry_run: bool,
    root: str | None,
    output: Output,  # noqa: ARG001
) -> Report:
    """Cut a release of SERVICE: record what HEAD is, once everything that must hold does.

    The governed files are committed, no rule finds an error, what moved since the last release was approved,
    the newest evidence for this fingerprint and suite passes, and no rollback holds the fingerprint back. The
    record and the snapshots of the evals are written below .tierlock/; they never change again.

    \b
    Examples:
      tierlock release cut summarizer --capture host.json
      tierlock release cut summarizer --capture host.json --sign --commit
      tierlock release cut summarizer --dry-run
    """
    from governance import __version__
    from governance.cli.capturing import read
    from governance.cli.release.naming import actor
    from governance.cli.review import judging
    from governance.release.alone import alone
    from governance.release.cutting import Terms, cut
    from governance.release.sides import Place, no_service

    place = Place(find(root or ""))
    terms = Terms(
        actor=by or actor(place),
        created_at=clock.stamp(),
        today=clock.today(),
        tool=f"tierlock {__version__}",
        reason=reason,
        unreviewed=unreviewed,
        capture=read(captured),
    )
    if dry_run:
        done = cut(place, service, judging.bench(), terms)
        told = ("dry run: nothing is written",) if done.files else ()
        return replace(done.report, notes=(*done.report.notes, *told))
    head = place.state("HEAD")
    if service not in head.bindings():  # before a lock is made under that name
        raise no_service(service, head)
    with alone(place, service, who=f"release cut by {terms.actor}"):
        done = cut(place, service, judging.bench(), terms)
        if not done.files:
            return done.report
        return _Writing(place, root or "", done).run(key=key, sign=sign or bool(key), commit=commit)


class _Writing:
    """What a passing cut leaves behind."""

    def __init__(self, place: Place, root: str, done: Done) -> None:
        assert done.record is not None
        self.place, self.root, self.done = place, root, done
        self.record: Record = done.record

    def run(self, *, key: str, sign: bool, commit: bool) -> Report:
        """Write, sign and commit; the report with what was done."""
        files = dict(self.done.files)
        if sign:
            files = self._signature(key) | files
        self._write(files)
        notes = [f"  wrote      {path}" for path in files]
        following = f'git add .tierlock && git commit -m "{self._message()}"'
        if commit:
            notes.append(f"  commit     {self._commit(files)} {self._message()}")
            following = f"tierlock golden set {self.record.service} {self.record.id}"
        report = self.done.report
        return replace(report, notes=(*report.notes, *notes), next=following)

    def _signature(self, key: str) -> dict[str, bytes]:
        """The detached signature of the record by a key of the policy, verified before it is written."""
        from governance.cli.review import choosing, judging
        from governance.errors import Unreadable
        from governance.release.record import signature_path
        from governance.release.verifying import SIGNATURE_NAMESPACE, signature
        from governance.verdict import Outcome

        where = judging.where(self.root)
        signer = choosing.signer(where, choosing.policy_at_head(where), key, namespace=SIGNATURE_NAMESPACE)
        made = signer.sign(self.done.files[self.record.path])
        check = signature(self.record, made, self.place)
        if check.outcome is not Outcome.PASS:
            raise Unreadable(
                f"the signature that was just made does not verify: {check.detail}",
                hint="does --key name the key that the agent holds? ssh-add -L",
            )
        return {signature_path(self.record.path): made.encode("ascii")}

    def _write(self, files: Mapping[str, bytes]) -> None:
        """The record last, and only where there is none: it names the others."""
        from governance.adapters.files import write_all, write_new

        top = Path(self.place.root)
        write_all(top, {path: data for path, data in files.items() if path != self.record.path})
        write_new(top / self.record.path, files[self.record.path])

    def _commit(self, files: Mapping[str, bytes]) -> str:
        from governance.cli.release.naming import commit_here

        return commit_here(self.place, [*files, *self.done.evidence], self._message())

    def _message(self) -> str:
        return f"release {self.record.service} {self.record.id} ({self.record.fingerprint[:12]})"
