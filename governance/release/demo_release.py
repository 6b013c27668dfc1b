"""The part of the demo that goes through a bad release: golden, silent drift, its effect, one command back.

- Everything is done with the real commands, in the repository of the review scenes, on a real server that the
  `process` driver starts. What they print is what is shown.
- The drift is one that happens: two values in two files, committed past the hook and deployed. Nothing fails.
- The smoke suite asks for figures of the article. Whether the drifted server still gives them is found out,
  not told beforehand; that some of its answers moved is what the scene needs to show.
- What the audit of packages finds is told and stops nothing: a machine without a network tells the story too.
- Each scene fails when what it tells did not happen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from governance.adapters.demo_engine import DemoEngine
from governance.adapters.demo_repository import DemoRepository, Said
from governance.errors import TierlockError
from governance.release.demo_review import checked, scene
from governance.release.deploy import process
from governance.release.deploy.target import target_of
from governance.release.sides import Place
from governance.verdict import Check, Outcome, Report

SERVICE: Final = "summarizer"
_HOST: Final = "127.0.0.1"
_SAMPLING: Final = ("configs/sampling/factual.yaml", "temperature: 0.2", "temperature: 0.9")
_BASE: Final = ("configs/base/smollm2.yaml", "dtype: f16", "dtype: q4_0")
_RESULTS: Final = "drifted.jsonl"
_REASON: Final = "answers lose their figures"
_DEPLOY: Final = """\
    deploy:
      driver: process
      host: {host}
      port: {port}
      binary: {binary}
      weights: {weights}
release:
  packages: {{vulnerable: warn}}
"""
_ITEMS: Final = (
    (
        "terns",
        "Researchers counted 312 breeding pairs of terns on the island, 40 more than in the year before. "
        "They credit a fence that keeps foxes out. It cost 18,000 euros and was paid for by visitors.",
        ("312", "terns"),
    ),
    (
        "pool-ticket",
        "The outdoor pool in Bergen opens on 1 May. Tickets cost four euros, one euro more than last year.",
        ("Bergen", "four euros"),
    ),
    (
        "hives",
        "A school in Graz keeps 14 hives on its roof. Pupils sold 60 jars of honey in October and bought a "
        "new smoker.",
        ("14 hives",),
    ),
    (
        "tools",
        "The library in Ghent lends tools from June on. A drill can be kept for three days, a ladder for "
        "one. Members pay nothing.",
        ("Ghent", "tools"),
    ),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A command with what it printed, and whether it ended as the story says."""

    command: str
    said: Said
    code: int = 0

    @property
    def good(self) -> bool:
        return self.said.code == self.code


def prepared(files: Mapping[str, bytes], engine: DemoEngine, port: int) -> dict[str, bytes]:
    """The files of `tierlock init` with where the server runs, one thread for it, and items that ask for
    figures.
    """
    services = files["tierlock.yaml"].decode().replace("127.0.0.1:8080", f"{_HOST}:{port}")
    deploy = _DEPLOY.format(host=_HOST, port=port, binary=engine.binary, weights=engine.weights)
    base = (
        files[_BASE[0]]
        .decode()
        .replace("threads: 4", "threads: 1")
        .replace("threads_batch: 4", "threads_batch: 1")
    )
    suite = files["evals/smoke.jsonl"] + b"".join(_item(*one) for one in _ITEMS)
    return {
        **files,
        "tierlock.yaml": f"{services.rstrip()}\n{deploy}".encode(),
        _BASE[0]: base.encode(),
        "evals/smoke.jsonl": suite,
    }


def _item(name: str, article: str, wanted: Sequence[str]) -> bytes:
    item = {"id": name, "task": "summarising", "variables": {"article": article},
            "scorer": "contains", "args": {"all": list(wanted)}}  # fmt: skip
    return json.dumps(item).encode() + b"\n"


def scenes(repository: DemoRepository) -> Iterator[Report]:
    """The scenes in order; the server they start is ended with the last."""
    try:
        yield _released(repository)
        yield _drifted(repository)
        yield _asked(repository)
        yield _back(repository)
        yield _held(repository)
    except TierlockError as err:
        yield Report(
            "demo",
            title="a release and the way back",
            checks=(Check("release", Outcome.UNDECIDED, err.message),),
            summary=f"the scenes of the release are left out: {err.message}",
            next=err.hint,
        )
    finally:
        _end(repository)


def _end(repository: DemoRepository) -> None:
    """End the server that the scenes started."""
    place = Place(repository.path)
    service = place.state("worktree").service(SERVICE)
    if service is not None and service.complete:
        process.stop(target_of(service, place, release=""))


def _released(repository: DemoRepository) -> Report:
    """A candidate is started, asked, released and made golden."""
    steps = [
        _run(repository, "release", "deploy", SERVICE, "HEAD"),
        _run(repository, "eval", "run", SERVICE, "--record"),
    ]
    repository.must("add", "-A")
    repository.must("commit", "-q", "-m", "what the smoke suite says")
    steps += [
        _run(repository, "release", "cut", SERVICE, "--reason", "first", "--commit"),
        _run(repository, "golden", "set", SERVICE, "v1", "--reason", "first", "--commit"),
    ]
    return scene(
        "a release on evidence, and made golden",
        *(checked(step.command, step.good, "it did not end as it should") for step in steps),
        notes=[line for step in steps for line in _told(step, 3)],
        summary="the release is what the server was asked for, and what we can return to",
    )


def _drifted(repository: DemoRepository) -> Report:
    """Two values move past the hook; the server starts, answers 200, and is another one."""
    _edit(repository)
    steps = [
        _run(repository, "release", "deploy", SERVICE, "HEAD"),
        _run(repository, "diff", f"{SERVICE}@golden", f"{SERVICE}@HEAD"),
        _run(repository, "diff", f"{SERVICE}@golden", f"{SERVICE}@live"),
    ]
    declared, live = steps[1].said.text, steps[2].said.text
    return scene(
        'a commit past the hook: temperature 0.9, KV cache q4_0; "make summaries richer"',
        checked("nothing fails", all(step.good for step in steps), "a command failed"),
        checked(
            "the values are named", "0.2 → 0.9" in declared and "f16 → q4_0" in declared, "one is not named"
        ),
        checked("and seen at the server", "f16 → q4_0" in live, "the KV cache is not named"),
        notes=[*_told(steps[0], 1), *_told(steps[1]), *_told(steps[2])],
        summary="the server is healthy, and no request fails",
    )


def _asked(repository: DemoRepository) -> Report:
    """The same questions again: which answers moved, and which are wrong now."""
    results = str(repository.path.parent / _RESULTS)
    asked = _run(repository, "eval", "run", SERVICE, "--out", results)
    compared = _run(repository, "eval", "compare", f"{SERVICE}@golden", results)
    line = _line(compared.said, " answers moved")
    moved = bool(line) and not line.startswith("0 of ")
    return scene(
        "what it does to the answers",
        checked("the smoke suite is answered", asked.said.code in (0, 1), "it could not be asked"),
        checked("answers moved", moved, "no answer moved"),
        notes=[*_told(asked), *_told(compared)],
        summary="every answer came with 200; the smoke suite and the comparison with golden tell",
    )


def _back(repository: DemoRepository) -> Report:
    """One command: files, server, read-back, smoke eval, record, hold."""
    step = _run(repository, "rollback", SERVICE, "--reason", _REASON)
    seen = all(word in step.said.text for word in ("read back", "rolled back"))
    return scene(
        "one command back",
        checked("rolled back", step.good, "it did not come back"),
        checked("and observed", seen, "success was said without looking"),
        notes=_told(step),
        summary="declared done from what the server shows and answers",
    )


def _held(repository: DemoRepository) -> Report:
    """What runs is golden, and the rejected values cannot be released again by anybody in a hurry."""
    same = _run(repository, "diff", f"{SERVICE}@golden", f"{SERVICE}@live", "--exit-code")
    _edit(repository)
    cut = _run(repository, "release", "cut", SERVICE, code=1)
    audit = _run(repository, "review", "audit", code=1)
    held = "held" in cut.said.text and _REASON in cut.said.text
    return scene(
        "it stays back",
        checked("golden is what runs", same.good, "something else runs"),
        checked("the drift is held", cut.good and held, "it could be released again"),
        checked("and the audit names it", audit.good and "TL540" in audit.said.text, "it is not found"),
        notes=[*_told(same, 2), *_told(cut), *_told(audit, 6)],
        summary="a rollback that automation undoes is none",
    )


def _edit(repository: DemoRepository) -> None:
    """The drift, committed past the hook."""
    for name, before, after in (_SAMPLING, _BASE):
        file = repository.path / name
        file.write_text(file.read_text("utf-8").replace(before, after, 1), "utf-8")
    repository.must("commit", "--no-verify", "-q", "-a", "-m", "make summaries richer")


def _run(repository: DemoRepository, *words: str, code: int = 0) -> Shown:
    said = repository.tierlock(*words)
    shown = " ".join(f'"{word}"' if " " in word else word for word in words)
    return Shown(f"tierlock {shown}".replace(f"{repository.path.parent}/", ""), said, code)


def _line(said: Said, having: str) -> str:
    return next((line.strip() for line in said.lines if having in line), "")


def _told(step: Shown, last: int = 0) -> Iterator[str]:
    """A command with its last lines, or all of them, indented as they are."""
    yield f"  $ {step.command}"
    yield from (f"    {line}" for line in step.said.lines[-last:])
    yield ""
