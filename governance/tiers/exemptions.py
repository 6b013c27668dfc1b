"""Exemptions: a rule set aside for one config, for a reason, until a day; still evaluated and shown.

- Every entry point goes through `exempt`; nothing else sets `Finding.exempted`.
- The last day counts. An exemption that has expired excuses nothing and is told; so is one that excuses
  nothing.
- What is refused as a file (TL0xx) or by a schema (TL1xx) cannot be excused: there is nothing to judge.
- A rule's severity can be raised by `rules.settings`, never lowered: that would be an exemption without an
  end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from governance.records import dataclass, replace
from governance.tiers.naming import SERVICES_FILE, config_of
from governance.tiers.reader_codes import CodeDoc
from governance.tiers.rules.model import EMPTY, Rule, mappings, section, text_at
from governance.values import KeyPath, Tree
from governance.verdict import Finding, Severity

if TYPE_CHECKING:
    from governance.tiers.reader import Reading

CODES: Final[dict[str, CodeDoc]] = {
    "TL990": CodeDoc(
        "exemption-expired",
        "The last day of an exemption has passed.",
        "What it excused counts again.",
        "Mend what the rule finds, or renew the exemption with a reason that still holds.",
    ),
    "TL991": CodeDoc(
        "exemption-unused",
        "An exemption excuses nothing: the rule finds nothing there.",
        "It would excuse the next mistake without anyone deciding so.",
        "Remove it.",
    ),
    "TL992": CodeDoc(
        "exemption-impossible",
        "An exemption for a rule that does not exist or cannot be set aside, for a config that is not "
        "there, or "
        "until a day that is none.",
        "It looks as if something were excused.",
        "Correct it or remove it.",
    ),
    "TL993": CodeDoc(
        "exemption-without-end",
        "An exemption lasts more than a year.",
        "Nobody will remember why.",
        "Choose a nearer day; it can be renewed.",
    ),
    "TL994": CodeDoc(
        "setting-unknown",
        "A setting of a rule that the rule does not have, or a severity below the rule's own.",
        "It looks as if a threshold had been set.",
        "Correct the name; to set a rule aside use an exemption.",
    ),
}
LONGEST: Final = timedelta(days=366)
_AT: Final[KeyPath] = ("rules", "exemptions")
_RANK: Final = {Severity.NOTE: 0, Severity.WARNING: 1, Severity.ERROR: 2}


@dataclass(frozen=True, slots=True)
class Exemption:
    """One entry of `rules.exemptions` at `index`; `expires` is its last day, None when it is no day."""

    rule: str
    config: str
    key: str
    reason: str
    expires: date | None
    index: int

    def covers(self, finding: Finding) -> bool:
        """Whether this is the rule and the config, and the key or one above it, of `finding`."""
        if self.rule != finding.code or self.config != subject(finding):
            return False
        rest = finding.key.removeprefix(self.key)
        return not self.key or (finding.key.startswith(self.key) and rest[:1] in {"", ".", "["})


@dataclass(frozen=True, slots=True)
class Exempted:
    """The findings with the excused ones marked, and what is wrong with exemptions and settings."""

    findings: tuple[Finding, ...]
    about: tuple[Finding, ...]


def subject(finding: Finding) -> str:
    """What a finding is about, as an exemption names it: `sampling/factual`, `service/summarizer`."""
    if finding.path == SERVICES_FILE:
        steps = finding.key.split(".", 2)
        return f"service/{steps[1]}" if len(steps) > 1 and steps[0] == "services" else ""
    config = config_of(finding.path)
    return str(config) if config is not None else ""


def exemptions(settings: Tree) -> tuple[Exemption, ...]:
    """Every exemption in the tree of tierlock.yaml."""
    return tuple(
        Exemption(
            text_at(entry, "rule"),
            text_at(entry, "config"),
            text_at(entry, "key"),
            text_at(entry, "reason"),
            _day(text_at(entry, "expires")),
            index,
        )
        for index, entry in mappings(section(settings, "rules").get("exemptions"))
    )


def exempt(
    findings: Iterable[Finding],
    settings: Tree,
    reading: Reading | None,
    *,
    today: date,
    judged: Collection[str],
    rules: Mapping[str, Rule],
    whole: bool = True,
) -> Exempted:
    """`findings` with those marked that an exemption of `settings` excuses on the day `today`.

    `judged` names the configs and services that were judged. With `whole` false only some configs were
    judged, and an exemption for others says nothing.
    """
    given = exemptions(settings)
    used: set[int] = set()
    marked: list[Finding] = []
    for finding in findings:
        excuse = next(
            (e for e in given if e.expires is not None and today <= e.expires and e.covers(finding)), None
        )
        if excuse is None or not _possible(excuse.rule, rules):
            marked.append(finding)
        else:
            used.add(excuse.index)
            marked.append(replace(finding, exempted=f"{excuse.reason} (until {excuse.expires})"))
    about: list[Finding] = []
    if reading is not None and section(settings, "rules"):
        about += _about_exemptions(given, used, reading, today, judged, rules, whole=whole)
        about += _about_settings(settings, reading, rules)
    return Exempted(tuple(marked), tuple(about))


def raised(settings: Tree, rule: Rule) -> Severity | None:
    """The severity `rules.settings` gives `rule`, when it is above the rule's own."""
    wanted = section(settings, "rules", "settings").get(rule.code, EMPTY)
    name = wanted.get("severity") if isinstance(wanted, dict) else None
    severity = next((s for s in Severity if s.value == name), None)
    return severity if severity is not None and _RANK[severity] > _RANK[rule.severity] else None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _possible(code: str, rules: Mapping[str, Rule]) -> bool:
    return code in rules or code.startswith("TL40")


def _about_exemptions(
    given: tuple[Exemption, ...],
    used: Collection[int],
    reading: Reading,
    today: date,
    judged: Collection[str],
    rules: Mapping[str, Rule],
    *,
    whole: bool,
) -> Iterator[Finding]:
    for each in given:
        what = f"exemption of {each.rule} for {each.config}"
        if not _possible(each.rule, rules):
            reason = (
                "cannot be set aside"
                if each.rule[:3] in {"TL0", "TL1"} or each.rule in CODES
                else "is no rule"
            )
            yield _finding(reading, "TL992", f"`{each.rule}` {reason}", each.index, "rule", Severity.ERROR)
        elif each.expires is None:
            yield _finding(
                reading, "TL992", "`expires` is no day of the calendar", each.index, "expires", Severity.ERROR
            )
        elif each.config not in judged:
            if whole:
                yield _finding(
                    reading, "TL992", f"there is no {each.config}", each.index, "config", Severity.ERROR
                )
        elif today > each.expires:
            text = f"the {what} ended on {each.expires}"
            yield _finding(reading, "TL990", text, each.index, "expires", Severity.WARNING)
        elif each.index not in used:
            yield _finding(
                reading, "TL991", f"the {what} excuses nothing", each.index, "rule", Severity.WARNING
            )
        elif each.expires - today > LONGEST:
            yield _finding(
                reading,
                "TL993",
                f"the {what} lasts until {each.expires}",
                each.index,
                "expires",
                Severity.WARNING,
            )


def _about_settings(settings: Tree, reading: Reading, rules: Mapping[str, Rule]) -> Iterator[Finding]:
    from governance.tiers.reader import finding_at

    for code, values in section(settings, "rules", "settings").items():
        rule = rules.get(code)
        at: KeyPath = ("rules", "settings", code)
        if rule is None:
            yield finding_at(reading, "TL994", f"`{code}` is no rule", at, on_key=True)
            continue
        for name, value in values.items() if isinstance(values, dict) else ():
            if name == "severity" and raised(settings, rule) is not None:
                continue
            if name == "severity":
                text = f"`{value}` does not raise {code}, which is {rule.severity.value}"
                yield finding_at(
                    reading, "TL994", text, (*at, name), hint="to set a rule aside use an exemption"
                )
            elif name not in rule.settings:
                yield finding_at(
                    reading, "TL994", f"{code} has no setting `{name}`", (*at, name), on_key=True
                )


def _finding(reading: Reading, code: str, message: str, index: int, key: str, severity: Severity) -> Finding:
    from governance.tiers.reader import finding_at

    hint = CODES[code].fix[:1].lower() + CODES[code].fix[1:].rstrip(".")
    return finding_at(reading, code, message, (*_AT, index, key), hint=hint, severity=severity)
