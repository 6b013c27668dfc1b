"""What `tierlock check` says of suites: each suite that a service names is there, whole, and can be asked.

- A suite is read once, however many services name it; what the requests of a service cannot carry (variables
  that are not its template's, parameters that requests may not set) is told once per service.
- Suites nobody names are judged only when their path is asked for: the folder may hold other files.
- Requests are made as a run makes them (`requests.py`), so that check and run cannot disagree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from governance.errors import Unreadable
from governance.evals.model import Item, Suite
from governance.evals.scorers.all_of import parts_of
from governance.evals.suites import read_suite
from governance.records import dataclass, field
from governance.tiers.check import Beside
from governance.tiers.naming import SUITES, suite_path, suites_of
from governance.tiers.placing import located
from governance.tiers.secrets import find_secrets
from governance.verdict import Check, Finding, Outcome

if TYPE_CHECKING:
    from governance.adapters.files import FileSource
    from governance.tiers.config import Repository, Service
    from governance.values import KeyPath

_MAX_TOLD: Final = 20


def judge_suites(
    source: FileSource, repository: Repository, only: Collection[str] | None = None
) -> Beside | None:
    """What is wrong with the suites of the services of `repository`; None when there are none.

    `only` adds the suites among these paths that no service names.
    """
    judging = _Judging(source, repository)
    for service in repository.services.values():
        judging.service(service)
    for path in only or ():
        if path.startswith(SUITES) and path.endswith(".jsonl"):
            judging.suite(path)
    return judging.result()


@dataclass(slots=True)
class _Judging:
    """One pass over the suites of a repository."""

    source: FileSource
    repository: Repository
    suites: dict[str, Suite | None] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    faulty: set[str] = field(default_factory=set)

    def suite(self, path: str) -> Suite | None:
        """The suite at `path`; findings are kept the first time."""
        if path not in self.suites:
            self.suites[path] = None
            try:
                data = self.source.read(path)
            except Unreadable as err:
                self.findings.append(Finding("TL714", err.message, path=path, hint=err.hint))
                return None
            self.suites[path], found = read_suite(data, path, self.source)
            self.findings += (*found, *_secrets(data, path))
        return self.suites[path]

    def service(self, service: Service) -> None:
        """Every suite that `service` names."""
        for key, name in suites_of(service.tree):
            path = suite_path(name)
            if not self.source.entries(path):
                self._missing(service, key, name)
                self.suites.setdefault(path, None)
                self.faulty.add(path)
            elif (suite := self.suite(path)) is not None:
                self.findings += _misfits(service, suite)

    def _missing(self, service: Service, key: KeyPath, name: str) -> None:
        from governance.tiers.hints import nearest

        reading = self.repository.services_file
        assert reading is not None
        there = [entry.path for entry in self.source.entries(SUITES) if entry.path.endswith(".jsonl")]
        near = nearest(name, (path.removeprefix(SUITES).removesuffix(".jsonl") for path in there))
        hint = f"did you mean `{near}`?" if near else f"add {suite_path(name)}, one item a line"
        message = f"service `{service.name}` names the suite `{name}`, which is not there"
        at: KeyPath = ("services", service.name, *key)
        self.findings.append(located(reading, "TL701", message, at, hint=hint))

    def result(self) -> Beside | None:
        """The check and its findings; a finding that two services cause alike is told once."""
        if not self.suites:
            return None
        findings = tuple(dict.fromkeys(self.findings))
        faulty = self.faulty | {each.path for each in findings if each.path in self.suites}
        items = sum(len(suite.items) for suite in self.suites.values() if suite is not None)
        errors = sum(each.blocks for each in findings)
        told = f", {errors} error{'' if errors == 1 else 's'}" if errors else ""
        detail = f"{len(self.suites)} suite{'' if len(self.suites) == 1 else 's'}, {items} items{told}"
        check = Check("suites", Outcome.BLOCK if errors else Outcome.PASS, detail)
        return Beside(check, findings, "suites", len(self.suites), len(faulty))


def _misfits(service: Service, suite: Suite) -> Iterator[Finding]:
    """The items of `suite` that `service` cannot be asked, or that judge what it does not promise."""
    from governance.evals.requests import Asking

    if not service.complete:
        return
    try:
        asking = Asking(service, stream=False)
    except (Unreadable, ValueError):
        return  # a file of the prompts is not there or no JSON: told where the config is judged
    told = 0
    for item in suite.items:
        if told >= _MAX_TOLD:
            return
        try:
            asking.request(item)
        except Unreadable as err:
            told += 1
            yield Finding("TL710", err.message, path=suite.path, line=item.line, column=1, hint=err.hint)
        if _asks_contract(item) and not _has_contract(service):
            told += 1
            message = f"`{item.id}` is judged by the output contract, and `{service.name}` has none"
            hint = "add `output` to its prompts config, or choose another scorer"
            yield Finding("TL711", message, path=suite.path, line=item.line, column=1, hint=hint)


def _asks_contract(item: Item) -> bool:
    parts: Iterable[Item] = parts_of(item) if item.scorer == "all-of" else (item,)
    return any(part.scorer == "contract" for part in parts)


def _has_contract(service: Service) -> bool:
    return service.prompts is not None and bool(service.prompts.tree.get("output"))


def _secrets(data: bytes, path: str) -> Iterator[Finding]:
    """A secret in a suite: it would be sent to the server, and kept with every result."""
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        for secret in find_secrets(line):
            message = f"the line holds a secret: {secret.kind}"
            hint = "take it out of the suite, and renew it: it is in the history"
            yield Finding("TL712", message, path=path, line=number, column=secret.start + 1, hint=hint)
