"""The report as JUnit XML: one test case per check and per finding, valid whatever the text.

- `block` is a failure, `undecided` an error, an exempted finding is skipped with its reason.
- Characters that XML 1.0 cannot carry are written as escapes, not dropped.
- No times: the report has none, and the same input must give the same bytes.
"""

from __future__ import annotations

from governance.report.escape import compact, plain, show
from governance.verdict import Change, Check, Finding, Outcome, Report


def render(report: Report) -> str:
    """`report` as one `testsuites` document."""
    cases = [_check(check, report) for check in report.checks]
    cases += [_finding(finding, report) for finding in report.findings]
    if not cases:
        cases = [_case("verdict", report.command, _element("error", "nothing was checked", ""))]
    failures = sum("<failure " in case for case in cases)
    errors = sum("<error " in case for case in cases)
    skipped = sum("<skipped " in case for case in cases)
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{errors}"'
    name = _attribute(f"tierlock {report.command}")
    out = "".join(f"    {line}\n" for line in _out(report))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name="tierlock" {counts}>\n'
        f'  <testsuite name={name} {counts} skipped="{skipped}">\n'
        + "".join(f"    {case}\n" for case in cases)
        + out
        + "  </testsuite>\n</testsuites>\n"
    )


def _check(check: Check, report: Report) -> str:
    if check.outcome is Outcome.PASS:
        return _case(check.name, report.command, "")
    tag = "failure" if check.outcome is Outcome.BLOCK else "error"
    return _case(check.name, report.command, _element(tag, check.detail or check.outcome.value, ""))


def _finding(finding: Finding, report: Report) -> str:
    place = finding.path + (f":{finding.line}:{finding.column}" if finding.line else "")
    body = "\n".join(part for part in (place, finding.excerpt, finding.hint) if part)
    if finding.exempted:
        inner = _element("skipped", f"exempted: {finding.exempted}", "")
    elif finding.blocks:
        inner = _element("failure", finding.message, body, kind=finding.code)
    else:
        inner = f"<system-out>{_text(f'{finding.severity.value}: {finding.message}')}</system-out>"
    return _case(f"{finding.code} {place} {finding.key}".strip(), finding.path or report.command, inner)


def _out(report: Report) -> list[str]:
    lines = [_change(change) for change in report.changes]
    lines += [f"{value.key} = {show(value.value)} ({value.provenance})" for value in report.values]
    lines += [compact(score) for score in report.scores]
    lines += [*report.notes, report.summary] if report.summary else report.notes
    lines += [f"next: {report.next}"] if report.next else []
    return [f"<system-out>{_text(chr(10).join(lines))}</system-out>"] if lines else []


def _change(change: Change) -> str:
    return f"{change.layer} {change.key}: {show(change.before)} → {show(change.after)} ({change.risk.value})"


def _case(name: str, classname: str, inner: str) -> str:
    head = f"<testcase name={_attribute(name)} classname={_attribute(classname)}"
    return f"{head}>{inner}</testcase>" if inner else f"{head}/>"


def _element(tag: str, message: str, body: str, *, kind: str = "") -> str:
    kind_text = f" type={_attribute(kind)}" if kind else ""
    return f"<{tag} message={_attribute(message)}{kind_text}>{_text(body)}</{tag}>"


def _attribute(text: str) -> str:
    return '"' + _text(plain(text)).replace('"', "&quot;") + '"'


def _text(text: str) -> str:
    lines = "\n".join(plain(line) for line in text.split("\n"))
    lines = "".join("\ufffd" if char in "\ufffe\uffff" else char for char in lines)
    return lines.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
