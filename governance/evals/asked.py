"""What an eval needs: the suite, the service as it is declared, where it answers, who scores, who looks.

- `asked_of` puts it together as a user of `tierlock eval run` means it; a rollback and the demo ask the same
  way.
- Secrets of the endpoint come from the environment that is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from governance.engines.keys import look
from governance.errors import Usage
from governance.evals.endpoint import Endpoint, endpoint_of
from governance.evals.judging import Bar, kind_of
from governance.evals.model import Item, Run, Score, Suite
from governance.evals.read_back import Look
from governance.records import dataclass

if TYPE_CHECKING:
    from governance.adapters.files import FileSource
    from governance.engines.observe import Observation
    from governance.tiers.config import Service

# vLLM lists the packages of its host when first asked what it uses: 5 s are too few on a busy one.
LOOK_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of whom: the suite, the service as it is declared, where it answers, and how its answers
    are scored. `look` observes the server; None leaves the read-back out. `golden` is the snapshot that a
    smoke run is held against.
    """

    suite: Suite
    service: Service
    endpoint: Endpoint
    score: Callable[[Item, Sequence[str]], Score]
    look: Look | None = None
    golden: Run | None = None
    kind: str = ""
    bar: Bar | None = None

    @property
    def means(self) -> str:
        """What the suite is to the service: `smoke`, `full`, or its name."""
        return self.kind or kind_of(self.service, self.suite.name)


def asked_of(
    service: Service,
    source: FileSource,
    *,
    environ: Mapping[str, str],
    root: str,
    suite: str = "",
    url: str = "",
    observed: bool = True,
) -> Asked:
    """What is asked of `service`: the suite called `suite`, by default its smoke suite.

    `source` is the state the suite is read from, `root` the folder that the user's own scorers are imported
    from. Raises `Usage` or `Unreadable` when something is missing.
    """
    from governance.evals.suites import load_suite

    endpoint = endpoint_of(service, environ, url=url)
    return Asked(
        load_suite(source, suite or smoke_of(service)),
        service,
        endpoint,
        scorer_of(service, root),
        look=look_at(endpoint) if observed else None,
    )


def smoke_of(service: Service) -> str:
    """The name of the service's smoke suite. Raises `Usage` when it names none."""
    name = look(service.tree, "evals.smoke")
    if not isinstance(name, str):
        raise Usage(
            f"service `{service.name}` names no smoke suite",
            hint="give --suite NAME, or add `evals: {smoke: NAME}` to tierlock.yaml",
        )
    return name


def scorer_of(service: Service, root: str) -> Callable[[Item, Sequence[str]], Score]:
    """What scores the answers of `service`."""
    from governance.evals.scorers.model import context_of
    from governance.evals.scorers.registry import score_item

    context = context_of(service, root=root)
    return lambda item, answers: score_item(item, answers, context)


def look_at(endpoint: Endpoint) -> Look:
    """What reads the server behind `endpoint` back, given the declared engine and version."""

    def observed(engine: str, version: str) -> Observation:
        from governance.adapters.http import Client
        from governance.engines.observe import observe, process_behind

        with Client(endpoint.url, headers=endpoint.headers, timeout=LOOK_SECONDS) as client:
            process = process_behind(endpoint.url)
            return observe(engine, version, endpoint.url, http=client, process=process)

    return observed
