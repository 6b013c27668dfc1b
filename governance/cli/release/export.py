"""`tierlock release export`: a release as an attestation or a bill of materials."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from governance.cli.options import reporting, root, service_names
from governance.cli.output import Output
from governance.verdict import Report

if TYPE_CHECKING:
    from governance.adapters.registry import Registry
    from governance.fingerprint.image import Reference
    from governance.release.attaching import Export
    from governance.release.record import Record

_ENDINGS: Final = {"attestation": "intoto.json", "bom": "cdx.json"}


@click.command("export")
@click.argument("service", shell_complete=service_names)
@click.argument("release", required=False)
@click.option(
    "--attestation", "kind", flag_value="attestation", default=True, help="An in-toto Statement v1."
)
@click.option("--bom", "kind", flag_value="bom", help="A CycloneDX 1.6 bill of materials of the model.")
@click.option("-o", "--output", "target", type=click.Path(path_type=Path), help="Write it here.")
@click.option("--sign", is_flag=True, help="Sign the attestation with your SSH key: git's, or the agent's.")
@click.option("--key", metavar="KEY", default="", help="Sign with this private or public SSH key.")
@click.option("--attach", is_flag=True, help="Attach it to the image of the release, in its registry.")
@click.option("--insecure", is_flag=True, help="Allow a registry over plain HTTP.")
@root
@reporting
def command(
    service: str,
    release: str | None,
    kind: str,
    target: Path | None,
    sign: bool,
    key: str,
    attach: bool,
    insecure: bool,
    root: str | None,
    output: Output,  # noqa: ARG001
) -> Report:
    """Export a release of SERVICE for other tools. Without RELEASE, the newest.

    The attestation names the image by its digest, the record, the commit and the fingerprint; signed, it is
    a DSSE envelope. The release is verified before anything is exported: what is not true is not told.

    \b
    Examples:
      tierlock release export summarizer v42
      tierlock release export summarizer v42 --sign --attach
      tierlock release export summarizer --bom -o summarizer.cdx.json
    """
    from governance.adapters.files import WorkTree
    from governance.cli.release.naming import chosen
    from governance.cli.repository import find
    from governance.release.exporting import exported, refused
    from governance.release.sides import Place

    if (sign or key) and kind == "bom":
        raise click.UsageError("--sign and --key go with --attestation: CycloneDX has no DSSE envelope")
    place = Place(find(root or ""))
    source = WorkTree(place.root)
    record = chosen(source, service, release)
    if (report := refused(record, place, source)) is not None:
        return report
    made = exported(record, place, kind, _signer(root or "", key) if sign or key else None)
    written = _written(record, made, kind, target, wanted=not attach or target is not None)
    return _report(record, made, written, _connect(insecure) if attach else None)


def _signer(root: str, key: str) -> Callable[[bytes], str]:
    from governance.cli.review import choosing, judging
    from governance.release.verifying import SIGNATURE_NAMESPACE

    where = judging.where(root)
    policy = choosing.policy_at_head(where)
    return choosing.signer(where, policy, key, namespace=SIGNATURE_NAMESPACE).sign


def _written(record: Record, made: Export, kind: str, target: Path | None, *, wanted: bool) -> str:
    from governance.adapters.files import write_atomic

    if not wanted:
        return ""
    path = target or Path(f"{record.service}-{record.id}.{_ENDINGS[kind]}")
    write_atomic(path, made.data)
    return str(path)


def _connect(insecure: bool) -> Callable[[Reference], Registry]:
    from governance.adapters.registry import Registry
    from governance.adapters.registry_login import credentials_for

    def connect(reference: Reference) -> Registry:
        credentials = credentials_for(reference.host, reference.name)
        return Registry(reference.host, credentials=credentials, insecure=insecure)

    return connect


def _report(
    record: Record, made: Export, written: str, connect: Callable[[Reference], Registry] | None
) -> Report:
    from governance.release.attaching import attach
    from governance.release.exporting import export_report

    return export_report(record, made, written, None if connect is None else attach(record, made, connect))
