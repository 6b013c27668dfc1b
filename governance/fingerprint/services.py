"""The fingerprint of a service or of all services, as a report: what `tierlock fingerprint` shows.

- The source layers come from the configs, `effective` from the engine modules, the others from a capture.
- A layer that cannot be had is unknown with its reason, and so is the fold: nothing equals it.
- Pure: a loaded repository and a capture in, a report out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from governance.engines.services import effective, named
from governance.fingerprint.layers import Fingerprint, service_fingerprint, short
from governance.fingerprint.left_out import left_out
from governance.tiers.config import Repository, Service
from governance.tiers.writer import dump
from governance.values import Json, Unknown
from governance.verdict import Check, LayerState, Outcome, Report, sort_findings

if TYPE_CHECKING:
    from governance.fingerprint.capture import Capture


_SOURCE = ("base", "sampling", "prompts")


def fingerprint_of(service: Service, capture: Capture | None = None) -> Fingerprint:
    """The fingerprint of `service` with its effective values and, with a capture, the observed layers."""
    values = effective(service)
    if not isinstance(values, Unknown):
        return service_fingerprint(service, effective=values, capture=capture)
    bare = service_fingerprint(service, capture=capture)
    return Fingerprint({**bare.layers, "effective": values}, bare.scheme)


def service_report(repository: Repository, name: str, capture: Capture | None, *, label: str) -> Report:
    """Every layer of the service `name` and its fold. Undecided when a config does not load."""
    found = fingerprint_of(named(repository, name), capture)
    layers = tuple(
        LayerState(layer, "unknown" if isinstance(value, Unknown) else "present", value)
        for layer, value in found.layers.items()
    )
    fold, written = found.fold(), found.only(_SOURCE).fold()
    return Report(
        "fingerprint",
        title=f"{name}   {short(fold)}   {found.scheme}, {label}",
        checks=(_check(repository, fold),),
        layers=layers,
        summary=f"{name} {_words(found, fold, written)}",
        run={
            "service": name,
            "source": label,
            "scheme": found.scheme,
            "fold": None if isinstance(fold, Unknown) else fold,
            "written": None if isinstance(written, Unknown) else written,
        },
    )


def all_report(repository: Repository, *, label: str) -> Report:
    """The fold of every service. Undecided when one of them has a config that does not load."""
    layers: list[LayerState] = []
    checks: list[Check] = []
    for name, service in repository.services.items():
        found = fingerprint_of(service)
        fold = found.fold()
        known = not isinstance(fold, Unknown)
        detail = " · ".join(f"{layer} {short(value)}" for layer, value in found.layers.items())
        shown = fold if known else Unknown(f"{', '.join(_unknown(found))} not known")
        layers.append(LayerState(name, "present" if known else "unknown", shown, detail=detail))
        checks.append(_check(repository, fold, name))
    count = f"{len(layers)} service" + ("s" if len(layers) != 1 else "")
    return Report(
        "fingerprint",
        title=f"{count} at {label}",
        checks=tuple(checks),
        layers=tuple(layers),
        summary=count,
        run={"source": label},
    )


def capture_report(capture: Capture, written: str) -> Report:
    """The captured layers; `written` is the file of the record. A damaged or contradictory host blocks."""
    layers = tuple(
        LayerState(layer, "unknown" if isinstance(value, Unknown) else "present", value)
        for layer, value in capture.digests().items()
    )
    unknown = sum(layer.state == "unknown" for layer in layers)
    bad = sum(finding.blocks for finding in capture.findings)
    told = f"{len(layers)} layers captured" + (f", {unknown} of them unknown" if unknown else "")
    return Report(
        "capture",
        checks=(Check("captured", Outcome.BLOCK if bad else Outcome.PASS),),
        findings=sort_findings(capture.findings),
        layers=layers,
        notes=_manifest(capture),
        summary=f"{told}, written to {written}" if written else f"{told}, written nowhere",
        next="" if written else "tierlock capture -o host.json",
        generated_at=capture.generated_at,
        run={"tool": capture.tool, "scheme": capture.scheme},
    )


def _manifest(capture: Capture) -> tuple[str, ...]:
    """The weight files and their digests as they stand in a base config, ready to be pasted."""
    weights = capture.weights
    if weights is None or isinstance(weights, Unknown):
        return ()
    files: dict[str, Json] = {file.name: file.sha256 or file.blake3 for file in weights.files}
    tree: dict[str, Json] = {"model": {"weights": {"files": files}}}
    return ("for the base config:", *(f"  {line}" for line in dump(tree).splitlines()))


def left_out_report() -> Report:
    """What no fingerprint covers, and why."""
    rows = [f"{item.layer:<10}  {item.what}: {item.why}" for item in left_out()]
    return Report(
        "fingerprint",
        title="deliberately outside of every fingerprint",
        checks=(Check("listed", Outcome.PASS),),
        notes=tuple(rows),
        summary=f"{len(rows)} things are left out",
    )


def _words(found: Fingerprint, fold: str | Unknown, written: str | Unknown) -> str:
    """The fold, or which layers keep it from being known and what the written layers alone fold to."""
    if not isinstance(fold, Unknown):
        return fold
    why = f"has no fold: {', '.join(_unknown(found))} not known"
    return why if isinstance(written, Unknown) else f"{why}; as written {short(written)}"


def _unknown(found: Fingerprint) -> list[str]:
    return [layer for layer, value in found.layers.items() if isinstance(value, Unknown)]


def _check(repository: Repository, fold: str | Unknown, name: str = "fingerprint") -> Check:
    """An unknown layer of a service whose configs load is told, not undecided: the others still count."""
    if isinstance(fold, Unknown) and any(finding.blocks for finding in repository.findings):
        return Check(name, Outcome.UNDECIDED, fold.reason)
    return Check(name, Outcome.PASS)
