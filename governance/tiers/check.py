"""`check`: every governed file read, validated and judged by every rule, into one report.

- One function for every entry point: command, hook, Python.
- Reading and schema come first; a refused config is not judged by rules, and its findings say why.
- A rule that needs engine tables and was given none is not passed over: the check is undecided.
- Nothing governed, in the repository or among the paths that were named, is undecided, not a pass.
- What lies beside the configs (eval suites) is judged by what is handed in: those modules are above this one.
- No finding prints a secret: excerpts are cleaned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from governance.records import dataclass
from governance.tiers.config import Repository, load_repository
from governance.tiers.exemptions import exempt, subject
from governance.tiers.judging import Judging
from governance.tiers.naming import SERVICES_FILE, is_governed
from governance.tiers.placing import clean
from governance.tiers.rules.catalogue import RULES
from governance.tiers.rules.model import EngineFacts
from governance.verdict import Check, Finding, Outcome, Report, Severity, sort_findings

if TYPE_CHECKING:
    from datetime import date

    from governance.adapters.files import FileSource


@dataclass(frozen=True, slots=True)
class Beside:
    """What was judged beside configs and services: its check and findings, what it is called, how many of it
    there are, and how many have findings.
    """

    check: Check
    findings: tuple[Finding, ...]
    name: str
    judged: int
    concerned: int


Further = Callable[["FileSource", Repository], Beside | None]

_FAMILIES: Final[Mapping[str, str]] = {
    "TL0": "reading",
    "TL1": "schema",
    "TL2": "base rules",
    "TL3": "sampling rules",
    "TL4": "prompts rules",
    "TL9": "environment rules",
}


def check(
    source: FileSource,
    *,
    today: date,
    only: Sequence[str] | None = None,
    engine_facts: EngineFacts | None = None,
    further: Further | None = None,
) -> Report:
    """The report on everything governed in `source`, or on the configs that the paths `only` belong to.

    `today` decides which exemptions count. `engine_facts` are the engines' option tables and defaults
    (`governance.engines.facts.Facts`); without them the rules that need them leave the report undecided.
    `further` judges what lies beside the configs (`governance.evals.checking`), once they are loaded.
    """
    repository = load_repository(source, only)
    judging = Judging(repository, engine_facts)
    judging.run()
    excused = exempt(
        judging.findings,
        repository.settings,
        repository.services_file,
        today=today,
        judged={*map(str, repository.configs), *(f"service/{name}" for name in repository.services)}
        | {subject(finding) for finding in repository.findings},
        rules=RULES,
        whole=only is None,
    )
    beside = further(source, repository) if further is not None else None
    more = beside.findings if beside is not None else ()
    findings = sort_findings((*repository.findings, *excused.findings, *excused.about, *more))
    findings = tuple(clean(finding) for finding in findings)
    if not findings and beside is None and not repository.configs:
        if repository.services_file is None:
            where = f"the {source.label}"
            return _nothing(source, where, f": no file below configs/, no {SERVICES_FILE}", "tierlock init")
        if only is not None and not any(map(is_governed, only)):
            return _nothing(source, "what is named", f": {', '.join(only[:3])}", "tierlock check")
    return _report(source, repository, findings, judging.unjudged, beside=beside)


def _nothing(source: FileSource, where: str, why: str, remedy: str) -> Report:
    said = f"nothing governed in {where}"
    return Report(
        "check",
        checks=(Check("governed files", Outcome.UNDECIDED, said),),
        summary=said + why,
        next=remedy,
        run={"source": source.label, "configs": 0, "rules": len(RULES)},
    )


def _report(
    source: FileSource,
    repository: Repository,
    findings: tuple[Finding, ...],
    unjudged: Iterable[str],
    *,
    beside: Beside | None,
) -> Report:
    configs = {str(each) for each in repository.configs}
    concerned = {
        subject(finding) for finding in findings if not finding.exempted and finding.path != SERVICES_FILE
    }
    judged = len(configs | {name for name in concerned if name})
    checks = [_family(prefix, name, findings, judged) for prefix, name in _FAMILIES.items()]
    checks += [beside.check] if beside is not None else []
    waiting = sorted(unjudged)
    if waiting:
        detail = f"no engine tables at hand: {', '.join(waiting)} judged nothing"
        checks.append(Check("engine tables", Outcome.UNDECIDED, detail))
    return Report(
        "check",
        checks=tuple(checks),
        findings=findings,
        summary=_summary(findings, len(concerned - {""}), judged, beside),
        run={
            "source": source.label,
            "configs": judged,
            "services": len(repository.services),
            "rules": len(RULES),
            **({beside.name: beside.judged} if beside is not None else {}),
        },
    )


def _family(prefix: str, name: str, findings: Iterable[Finding], judged: int) -> Check:
    mine = [finding for finding in findings if finding.code.startswith(prefix)]
    counts = {
        "errors": sum(finding.blocks for finding in mine),
        "warnings": sum(f.severity is Severity.WARNING and not f.exempted for f in mine),
        "notes": sum(f.severity is Severity.NOTE and not f.exempted for f in mine),
        "exempted": sum(bool(finding.exempted) for finding in mine),
    }
    told = ", ".join(_counted(count, word) for word, count in counts.items() if count)
    outcome = Outcome.BLOCK if counts["errors"] else Outcome.PASS
    return Check(name, outcome, f"{judged} configs" + (f": {told}" if told else ""))


def _counted(count: int, words: str) -> str:
    return f"{count} {words.removesuffix('s') if count == 1 else words}"


def _summary(findings: tuple[Finding, ...], concerned: int, judged: int, beside: Beside | None) -> str:
    shown = [finding for finding in findings if not finding.exempted]
    blocking = sum(finding.blocks for finding in shown)
    exempted = len(findings) - len(shown)
    more = [f"{len(RULES)} rules"]
    if exempted:
        more.append(f"{_counted(exempted, 'exemptions')} shown with --exempted")
    told = ", ".join(more)
    among = f", {blocking} blocking," if 0 < blocking < len(shown) else ""
    whole = _counted(judged, "configs")
    if beside is not None:
        whole += f" and {_counted(beside.judged, beside.name)}"
        concerned += beside.concerned
    if not shown:
        return f"no findings in {whole} ({told})"
    return f"{_counted(len(shown), 'findings')}{among} in {concerned} of {whole} ({told})"
