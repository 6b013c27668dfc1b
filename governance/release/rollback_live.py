"""What a return asks of the running world: which servers there are, what they show, how they answer.

- The runtime is asked which servers run; each is then read back at its own address. Where several stand
  behind one address, whichever answers is compared, and the runtime's word counts for each.
- A service without a driver is the server at its endpoint.
- The smoke eval asks as the release's own configs say, with the suite of the release's commit, at the address
  of today.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from governance.engines.drift import drift
from governance.engines.keys import look
from governance.engines.services import generation_config
from governance.errors import TierlockError, Usage
from governance.evals.asked import Asked, asked_of
from governance.evals.endpoint import Endpoint, endpoint_of
from governance.evals.judging import SMOKE
from governance.evals.read_back import Look
from governance.evals.results import load_run
from governance.fingerprint.changes import Showing
from governance.records import dataclass, replace
from governance.release.deploy.model import Driver, Replica, Target
from governance.release.identity import HashFile, identity_of
from governance.release.observation import Running
from governance.values import Unknown
from governance.verdict import Change

if TYPE_CHECKING:
    from governance.adapters.files import FileSource
    from governance.engines.observe import Observation
    from governance.release.record import Record
    from governance.release.sides import Place
    from governance.tiers.config import Service

LookAt = Callable[[Endpoint], Look]
_INTERFACE: Final = "/v1"


@dataclass(frozen=True, slots=True)
class Runs:
    """A service as it shall run. `driver` and `target` are None when somebody else starts it."""

    service: Service
    driver: Driver | None = None
    target: Target | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What one server shows beside the configs."""

    compared: int = 0
    moved: tuple[Change, ...] = ()
    missing: str = ""
    started_at: float | Unknown = Unknown("the process was not looked for")


def servers(
    runs: Runs, *, look_at: LookAt, hash_file: HashFile, environ: Mapping[str, str]
) -> tuple[Running, ...] | Unknown:
    """The servers of the service as they are now, each read back."""
    endpoint = reached(runs, environ)
    if runs.driver is None or runs.target is None:
        seen = read(runs.service, look_at(endpoint), hash_file)
        return (_running(Replica(endpoint.url, endpoint.url, seen.started_at), seen),)
    found = runs.driver.running(runs.target)
    if isinstance(found, Unknown):
        return found
    known: dict[str, Reading] = {}
    for replica in found:
        if replica.url not in known:
            at = replace(endpoint, url=f"{replica.url.rstrip('/').removesuffix(_INTERFACE)}{_INTERFACE}")
            known[replica.url] = read(runs.service, look_at(at), hash_file)
    return tuple(_running(replica, known[replica.url]) for replica in found)


def labels(runs: Runs) -> Sequence[str]:
    """The fingerprints that running servers were started under, without reading any of them back."""
    if runs.driver is None or runs.target is None:
        return ()
    found = runs.driver.running(runs.target)
    return () if isinstance(found, Unknown) else [one.fingerprint for one in found if one.fingerprint]


def reached(runs: Runs, environ: Mapping[str, str]) -> Endpoint:
    """Where the service answers: its endpoint, else the address its driver gives the server.

    Raises `Usage` when there is neither, `Unreadable` for a secret that is not there.
    """
    said = look(runs.service.tree, "endpoint.url")
    if not isinstance(said, str) and runs.target is None:
        raise Usage(
            f"nothing says where `{runs.service.name}` answers",
            hint="add `endpoint: {url: …}` to tierlock.yaml",
        )
    url = "" if isinstance(said, str) or runs.target is None else f"{runs.target.url}{_INTERFACE}"
    return endpoint_of(runs.service, environ, url=url)


def read(service: Service, look_at: Look, hash_file: HashFile) -> Reading:
    """What the server shows: every value beside the configs, and its weights and template."""
    if service.base is None or service.sampling is None:
        return Reading(missing=f"a config of `{service.name}` does not load")
    base = service.base.tree
    engine, version = (look(base, f"engine.{key}") for key in ("name", "version"))
    try:
        seen: Observation = look_at(
            engine if isinstance(engine, str) else "", version if isinstance(version, str) else ""
        )
        found = drift(base, service.sampling.tree, generation_config(service.base), seen)
        identity = identity_of(service, seen, hash_file, Showing())
    except TierlockError as err:
        return Reading(missing=err.message, started_at=Unknown(err.message))
    moved = (*identity.changes, *found.changes)
    compared = len(found.same) + len(found.changes) + len(identity.layers)
    missing = "" if compared else "the server shows nothing that could be compared"
    return Reading(compared, moved, missing, seen.started_at)


def smoke_asked(
    runs: Runs,
    record: Record,
    place: Place,
    *,
    held: FileSource,
    environ: Mapping[str, str],
    look_at: LookAt,
) -> Asked:
    """The smoke eval of the release, with its snapshot to hold it against."""
    name = str(look(runs.service.tree, "evals.smoke"))
    source = place.state(record.commit).source
    asked = asked_of(
        runs.service, source, environ=environ, root=place.root, suite=name, url=reached(runs, environ).url
    )
    kept = record.snapshot(name)
    golden = load_run(held.read(kept.path), kept.path) if kept is not None else None
    return replace(asked, golden=golden, kind=SMOKE, look=look_at(asked.endpoint))


def _running(replica: Replica, seen: Reading) -> Running:
    return Running(
        name=replica.name,
        started_at=replica.started_at,
        image=replica.image_digest,
        label=replica.fingerprint,
        compared=seen.compared,
        moved=seen.moved,
        missing=seen.missing,
    )
