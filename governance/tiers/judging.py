"""Every rule over every config and service of a loaded repository: contexts in, findings out.

- A rule that needs engine tables and was given none is remembered as not judged.
- Services that bind the same three configs are judged once, and named together.
- A hit stands where it is mended: in the config of its tier, in a file that config names, or in
  tierlock.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from governance.records import dataclass, field
from governance.tiers.config import Config, Repository, Service
from governance.tiers.exemptions import raised
from governance.tiers.placing import located, odd_text, placed
from governance.tiers.reader import Reading
from governance.tiers.rules.catalogue import BY_TIER, RULES, TIERS
from governance.tiers.rules.model import EMPTY, Context, EngineFacts, Hit, Rule, Tier, section, text_at
from governance.values import Json, KeyPath, Tree
from governance.verdict import Finding, Severity


@dataclass(slots=True)
class Judging:
    """One run of all rules over one repository.

    `unjudged` are the codes of rules that could not judge because `facts` is None.
    """

    repository: Repository
    facts: EngineFacts | None
    findings: list[Finding] = field(default_factory=list)
    unjudged: set[str] = field(default_factory=set)
    _profiles: dict[str, Tree] = field(default_factory=dict)
    _thresholds: dict[str, Tree] = field(default_factory=dict)
    _raised: dict[str, Severity] = field(default_factory=dict)

    def run(self) -> None:
        """Judge everything; fills `findings` and `unjudged`."""
        settings = section(self.repository.settings, "rules", "settings")
        self._thresholds = {code: value for code, value in settings.items() if isinstance(value, dict)}
        profiles = section(self.repository.settings, "profiles")
        self._profiles = {name: value for name, value in profiles.items() if isinstance(value, dict)}
        self._raised = {
            code: severity for code in self._thresholds if code in RULES
            and (severity := raised(self.repository.settings, RULES[code])) is not None
        }  # fmt: skip
        for config in self.repository.configs.values():
            self._config(config)
        self._services()
        self._told_once()

    def _told_once(self) -> None:
        """Drop the general finding of a secret where the rule for that place has named it."""
        named = {(each.path, each.line) for each in self.findings if each.code in {"TL905", "TL907"}}
        if named:
            self.findings = [
                each for each in self.findings if each.code != "TL906" or (each.path, each.line) not in named
            ]

    def _config(self, config: Config) -> None:
        tier = config.id.tier
        context = Context(
            tier=tier,  # type: ignore[arg-type]
            tree=config.tree,
            files=_by_name(config) if config.files else EMPTY,  # type: ignore[arg-type]
            text=config.reading.text,
            profiles=self._profiles,
            settings=self._thresholds,
            facts=self.facts,
            engine=text_at(config.tree, "engine", "name") if tier == "base" else "",
            options=section(config.tree, "engine", "options") if tier == "base" else EMPTY,
        )
        for rule, hit in self._hits(tier, context):  # type: ignore[arg-type]
            self.findings.append(self._finding(rule, hit, config.reading, config))
        if tier != "base":
            self.findings += odd_text(config)

    def _hits(self, tier: Tier, context: Context) -> Iterator[tuple[Rule, Hit]]:
        tree = context.tree
        for key, inner, rules in _by_need(tier):
            if key and (key not in tree or (inner and not _has(tree[key], inner))):
                continue
            for rule in rules:
                if rule.engine and context.facts is None:
                    self.unjudged.add(rule.code)
                    continue
                for hit in rule.check(context):
                    yield rule, hit

    def _services(self) -> None:
        reading = self.repository.services_file
        if reading is None:
            return
        whole = Context(tier="settings", tree=self.repository.settings, text=reading.text)
        for rule, hit in self._hits("settings", whole):
            self.findings.append(self._finding(rule, hit, reading, None))
        bound: dict[tuple[Json, ...], list[Service]] = {}
        for service in self.repository.services.values():
            entry = Context(tier="binding", tree=service.tree, services=(service.name,))
            for rule, hit in self._hits("binding", entry):
                self.findings.append(self._finding(rule, hit, reading, None, ("services", service.name)))
            key = tuple(service.tree.get(tier) for tier in ("base", "sampling", "prompts"))
            bound.setdefault(key, []).append(service)
        for services in bound.values():
            self._combination(services, reading)

    def _combination(self, services: list[Service], reading: Reading) -> None:
        first = services[0]
        configs: dict[str, Config | None] = {
            "base": first.base, "sampling": first.sampling, "prompts": first.prompts,
        }  # fmt: skip
        context = Context(
            tier="service",
            tree=first.tree,
            base=first.base.tree if first.base else EMPTY,
            sampling=first.sampling.tree if first.sampling else EMPTY,
            prompts=first.prompts.tree if first.prompts else EMPTY,
            base_files=_by_name(first.base) if first.base else {},
            prompts_files=_by_name(first.prompts) if first.prompts else {},
            services=tuple(service.name for service in services),
            profiles=self._profiles,
            settings=self._thresholds,
            facts=self.facts,
            engine=text_at(first.base.tree, "engine", "name") if first.base else "",
            options=section(first.base.tree, "engine", "options") if first.base else EMPTY,
        )
        for rule, hit in self._hits("service", context):
            config = configs.get(hit.tier)
            where, prefix = (config.reading, ()) if config else (reading, ("services", first.name))
            self.findings.append(self._finding(rule, hit, where, config, prefix))

    def _finding(
        self, rule: Rule, hit: Hit, reading: Reading, config: Config | None, prefix: KeyPath = ()
    ) -> Finding:
        severity = hit.severity or rule.severity
        severity = self._raised.get(rule.code, severity)
        if hit.place is not None:
            return placed(rule, hit, reading, config, severity)
        return located(
            reading,
            rule.code,
            hit.message,
            (*prefix, *hit.key),
            hint=hit.hint,
            on_key=hit.on_key,
            severity=severity,
        )


@lru_cache(maxsize=len(TIERS))
def _by_need(tier: Tier) -> tuple[tuple[str, str, tuple[Rule, ...]], ...]:
    """The rules of a tier by the key they need, as its one or two steps; no step for those that need none."""
    groups: dict[str, list[Rule]] = {}
    for rule in BY_TIER[tier]:
        groups.setdefault(rule.needs, []).append(rule)
    return tuple((*need.partition(".")[::2], tuple(rules)) for need, rules in groups.items())


def _has(value: Json, key: str) -> bool:
    return isinstance(value, dict) and key in value


def _by_name(config: Config) -> dict[str, bytes]:
    prefix = f"{config.id.name}/"
    return {path.removeprefix(prefix): data for path, data in config.files.items()}
