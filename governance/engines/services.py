"""The effective values of a service, from its configs: where `tierlock resolve` and the fingerprint start.

- A service with a config that did not load has no effective values, and the reason says which one.
- The model's own generation config is the file the base config names beside itself. Not named is `ABSENT`
  (nobody kept it), refused is `Unknown`; the engine module decides what follows.
- Pure: a loaded repository in, values and a report out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from governance.engines.keys import look
from governance.engines.model import FROM_CONFIG
from governance.engines.resolve import resolve
from governance.errors import TierlockError, Usage
from governance.tiers.config import Config, Repository, Service
from governance.tiers.reader import read_json
from governance.values import ABSENT, Absent, Effect, Tree, Unknown
from governance.verdict import Check, EffectiveValue, Outcome, Report


def generation_config(base: Config) -> Tree | Unknown | Absent:
    """The model's own generation config that `base` keeps; `ABSENT` when it keeps none."""
    name = look(base.tree, "model.generation_config.file")
    if not isinstance(name, str):
        return ABSENT
    try:
        data = base.file(name)
    except KeyError:
        return Unknown(f"`{name}` is not there")
    reading = read_json(data, f"configs/base/{base.id.name}/{name}")
    if not isinstance(reading.tree, Mapping):
        return Unknown(f"`{name}` cannot be read")
    return reading.tree


def effective(service: Service) -> tuple[EffectiveValue, ...] | Unknown:
    """Every value the service will use, by key, or why that cannot be said."""
    base, sampling = service.base, service.sampling
    missing = [tier for tier, config in (("base", base), ("sampling", sampling)) if config is None]
    if base is None or sampling is None:
        return Unknown(f"the {' and the '.join(missing)} config does not load")
    try:
        return resolve(base.tree, sampling.tree, generation_config(base))
    except TierlockError as err:
        return Unknown(str(err))


def named(repository: Repository, name: str) -> Service:
    """The service `name`. Raises `Usage` with the names there are."""
    service = repository.services.get(name)
    if service is not None:
        return service
    from difflib import get_close_matches

    near = get_close_matches(name, repository.services, n=1)
    known = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(repository.services) or 'none'}"
    raise Usage(f"there is no service `{name}` in tierlock.yaml", hint=known)


def resolve_report(repository: Repository, name: str, *, label: str) -> Report:
    """What `name` will use: every value with its provenance. Undecided when a config does not load."""
    service = named(repository, name)
    values = effective(service)
    if isinstance(values, Unknown):
        findings = tuple(finding for finding in repository.findings if finding.blocks)
        check = Check("resolved", Outcome.UNDECIDED, values.reason)
        return Report(
            "resolve", title=f"{name} at {label}", checks=(check,), findings=findings, next="tierlock check"
        )
    return Report(
        "resolve",
        title=f"{name} at {label}",
        checks=(Check("resolved", Outcome.PASS),),
        values=values,
        summary=_summary(values),
        next=_next(name, values),
        run={"service": name, "source": label},
    )


def floating(values: Iterable[EffectiveValue]) -> list[EffectiveValue]:
    """The known values that shape answers and that no config pins: an upgrade can move each of them."""
    return [
        value
        for value in values
        if value.risk is Effect.OUTPUT
        and value.provenance != FROM_CONFIG
        and value.value is not ABSENT
        and not isinstance(value.value, Unknown)
    ]


def _summary(values: tuple[EffectiveValue, ...]) -> str:
    kinds = Counter(_kind(value) for value in values)
    order = ("from the config", "from elsewhere", "not set", "unknown")
    told = ", ".join(f"{kinds[kind]} {kind}" for kind in order if kinds[kind])
    return f"{len(values)} values: {told}"


def _kind(value: EffectiveValue) -> str:
    if isinstance(value.value, Unknown):
        return "unknown"
    if value.value is ABSENT:
        return "not set"
    return "from the config" if value.provenance == FROM_CONFIG else "from elsewhere"


def _next(name: str, values: tuple[EffectiveValue, ...]) -> str:
    sampling = [value for value in floating(values) if value.key.startswith("sampling.")]
    return f"tierlock resolve {name} --write" if sampling else ""
