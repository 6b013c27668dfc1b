"""The story that `tierlock demo` tells, on a real server with real weights.

- The repository is checked; in another one an edit meets the review (`demo_review.py`).
- Its base config is rendered into a launch; what the server then shows is read back and has the fingerprint
  of the repository.
- Somebody changes one thing at the server: the KV cache, then two start flags. No file moves and every
  answer is a 200; the comparison names layer, field, declared and observed value.
- A release is cut and made golden, drifts, and is taken back with one command (`demo_release.py`).
- Each scene is a report that fails when what it tells did not happen. Without the engine's wheels the scenes
  that need no server are told, and the outcome is undecided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Final

from governance.adapters.demo_engine import WEIGHTS_FILE, DemoEngine
from governance.adapters.demo_repository import DemoRepository
from governance.adapters.http import Client
from governance.adapters.processes import free_port, running
from governance.engines import registry
from governance.engines.drift import PINNED
from governance.engines.facts import Facts
from governance.engines.keys import look
from governance.errors import Unreachable
from governance.evals.model import Item
from governance.evals.requests import Asking
from governance.fingerprint.layers import Fingerprint, short
from governance.release import demo_release, demo_review
from governance.release.diff import compare
from governance.release.sides import Place, StateSide, parse_side
from governance.tiers.check import check
from governance.tiers.config import Service
from governance.values import Json, Tree, Unknown
from governance.verdict import Check, LayerState, Outcome, Report

_HOST: Final = "127.0.0.1"
_START_SECONDS: Final = 120.0
_SHORT: Final[dict[str, Json]] = {"max_tokens": 40}
_ANSWER_SECONDS: Final = 120.0  # on a busy machine
# What is changed at the server, in the words of a start script, and the fields that must be named for it.
_CACHE: Final = (
    "a start script quantises the KV cache: --cache-type-k q4_0 --cache-type-v q4_0",
    ("--cache-type-k", "q4_0", "--cache-type-v", "q4_0"),
    ("precision.kv_cache.dtype",),
)
_DEFAULTS: Final = (
    "a start script sets two sampling defaults: --temp 0.9 --dry-multiplier 0.8",
    ("--temp", "0.9", "--dry-multiplier", "0.8"),
    ("sampling.dry.multiplier",),
)
_ARTICLES: Final = (
    "The harbour bridge closes on Monday for eleven weeks. Engineers found cracks in two of its 48 cables. "
    "Buses use the northern tunnel, which adds nine minutes. Cyclists may cross until Friday.",
    "Researchers counted 312 breeding pairs of terns on the island, 40 more than in the year before. They "
    "credit a fence that keeps foxes out. It cost 18,000 euros and was paid for by visitors.",
    "The town's two swimming pools share one ticket from May on. It costs 6.50 and is valid for a day. "
    "Children under seven swim free, as they did before. The outdoor pool opens on the 3rd.",
)


@dataclass(frozen=True, slots=True)
class Cast:
    """Who plays: the repository, the service in it, the engine of this machine, and a folder for logs.

    `started` are the files that the repository of the review scenes starts with.
    """

    place: Place
    service: str
    engine: DemoEngine | Unknown
    folder: Path
    today: date
    started: Mapping[str, bytes]


def fits(service: Service) -> bool:
    """Whether the demo's engine and weights are what `service` asks for."""
    base = service.base.tree if service.base else {}
    files = look(base, "model.weights.files")
    return look(base, "engine.name") == "llama.cpp" and isinstance(files, Mapping) and WEIGHTS_FILE in files


def scenes(cast: Cast) -> Iterator[Report]:
    """The scenes in order; each is one report."""
    yield _checked(cast)
    repository = DemoRepository(cast.folder, demo_review.AUTHOR)
    files = cast.started
    if not isinstance(cast.engine, Unknown):
        files = demo_release.prepared(files, cast.engine, free_port())
    yield from demo_review.scenes(repository, files)
    if isinstance(cast.engine, Unknown):
        yield Report(
            "demo",
            title="a real server",
            checks=(Check("server", Outcome.UNDECIDED, cast.engine.reason),),
            summary=f"the scenes with a server are left out: {cast.engine.reason}",
            next="make demo",
        )
        return
    declared = parse_side(f"{cast.service}@worktree", cast.place)
    assert isinstance(declared, StateSide)
    service = declared.state.service(cast.service)
    if service is None or service.base is None:
        return
    stage = _Stage(cast, cast.engine, service, declared)
    yield stage.as_declared()
    yield stage.drifted(*_CACHE)
    yield stage.drifted(*_DEFAULTS)
    yield from demo_release.scenes(repository)


def told(reports: Sequence[Report]) -> Report:
    """The last word over all scenes."""
    checks = tuple(
        Check(report.title, report.outcome, report.summary if report.outcome is not Outcome.PASS else "")
        for report in reports
    )
    seen = sum(check.outcome is Outcome.PASS for check in checks)
    return Report(
        "demo",
        checks=checks,
        summary=f"{seen} of {len(checks)} scenes came out as told",
        next="tierlock init my-services",
    )


def _checked(cast: Cast) -> Report:
    report = check(cast.place.state("worktree").source, today=cast.today, engine_facts=Facts())
    return replace(report, command="demo", title="the repository, checked")


class _Stage:
    """The server in its versions, the answers it gave as declared, and one look at the weights."""

    def __init__(self, cast: Cast, engine: DemoEngine, service: Service, declared: StateSide) -> None:
        self.cast = cast
        self.engine = engine
        self.service = service
        self.declared = declared
        self.answers: tuple[str, ...] = ()

    def as_declared(self) -> Report:
        """The server as the repository says: the same fingerprint on both sides."""
        report, self.answers = self._look("a server started from the repository, read back", ())
        layers = report.layers
        effective = next((layer for layer in layers if layer.name == "effective"), None)
        sides = [_fold(layers, side) for side in ("before", "after")]
        equal = isinstance(sides[0], str) and sides[0] == sides[1]
        word = "equal" if equal else "NOT EQUAL"
        notes = (
            *(f"{layer.name:<12} {short(layer.before)}   {short(layer.after)}" for layer in layers),
            f"{'fingerprint':<12} {short(sides[0])}   {short(sides[1])}   {word}",
            f"{len(self.answers)} answers of this server are kept to compare with",
        )
        seen = {layer.name for layer in layers} >= {"effective", "weights"}
        outcome = Outcome.PASS if equal and seen and not report.changes else Outcome.BLOCK
        detail = effective.detail if effective else ""
        return replace(
            report,
            checks=(Check("equal fingerprints", outcome, detail),),
            notes=("            repository      server", *notes),
            summary="repository and server have the same fingerprint" if equal else "they differ",
        )

    def drifted(self, title: str, flags: Sequence[str], expected: Sequence[str]) -> Report:
        """The server with `flags` added to its launch; passes when every expected field is named."""
        report, answers = self._look(title, flags)
        named = {change.key for change in report.changes}
        missing = [key for key in expected if not any(name.startswith(key) for name in named)]
        outcome = Outcome.BLOCK if missing else Outcome.PASS
        moved = sum(one != two for one, two in zip(self.answers, answers, strict=True))
        said = f"{moved} of {len(answers)} answers moved; every request was answered with 200"
        return replace(
            report,
            checks=(Check("named", outcome, f"not named: {', '.join(missing)}" if missing else ""),),
            notes=(*_pinned(report.notes), said),
        )

    def _look(self, title: str, flags: Sequence[str]) -> tuple[Report, tuple[str, ...]]:
        """The comparison with a server whose launch has `flags` added, and its answers."""
        port = free_port()
        base = self.service.base
        assert base is not None
        launch = registry.load("llama.cpp").render(
            base.tree, host=_HOST, port=port, weights=str(self.engine.weights)
        )
        argv = [str(self.engine.binary), *launch.argv[1:], *flags]
        url = f"http://{_HOST}:{port}"
        log = self.cast.folder / f"server-{port}.log"
        with (
            Client(url, timeout=_ANSWER_SECONDS) as client,
            running(
                argv, launch.environment, log=log, healthy=lambda: _healthy(client), timeout=_START_SECONDS
            ),
        ):
            report = compare(self.declared, parse_side(url, self.cast.place))
            answers = tuple(_ask(client, self.service, article) for article in _ARTICLES)
        return replace(report, command="demo", title=title), answers


def _healthy(client: Client) -> bool:
    try:
        return not isinstance(client.get("/health"), Unknown)
    except Unreachable:
        return False


def _ask(client: Client, service: Service, article: str) -> str:
    """The answer to one request of the service, as its configs say it, but short."""
    asking = Asking(service, stream=False, evidence=False)
    item = Item("article", "summarising", "", variables={"article": article}, overrides=_SHORT)
    request = asking.request(item)
    answer = client.post(request.path, dict(request.body))
    if not isinstance(answer, Mapping):
        raise Unreachable(f"the server refused a request: {answer}", where=client.url)
    text = look(_first(answer), "message.content")
    return text if isinstance(text, str) else ""


def _first(answer: Mapping[str, Json]) -> Tree:
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    return first if isinstance(first, Mapping) else {}


def _fold(layers: Sequence[LayerState], side: str) -> str | Unknown:
    values = {layer.name: getattr(layer, side) for layer in layers}
    return Fingerprint(values).fold()


def _pinned(notes: Sequence[str]) -> list[str]:
    """What moved at the server and reaches no request, since every request says its own value."""
    return [note for note in notes if PINNED in note]
