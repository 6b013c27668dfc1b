"""What `tierlock eval run` puts together: configs, suite, endpoint, the file of results, the clock.

- Results go to a new file each time, in the git folder of this clone unless `--out` names one; `--resume`
  takes the newest broken run of the same suite and configs.
- An interrupted run says where its results are and how to go on.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from governance import __version__
from governance.cli.progress import progress
from governance.cli.repository import cache_folder, find
from governance.errors import TierlockError, Unreadable, Usage
from governance.records import dataclass, replace
from governance.verdict import Report

if TYPE_CHECKING:
    from governance.adapters.lines import Lines
    from governance.evals.asked import Asked
    from governance.evals.evaluating import Evaluated
    from governance.evals.model import Run, Suite
    from governance.evals.running import RunOptions
    from governance.fingerprint.states import State
    from governance.release.sides import Place
    from governance.tiers.config import Service


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options of `eval run` say."""

    service: str
    suite: str = ""
    url: str = ""
    rev: str = ""
    against: str = ""
    out: str = ""
    resume: bool = False
    record: bool = False
    limit: int | None = None
    stream: bool | None = None
    observed: bool = True


def run(wanted: Wanted, root: str, *, show_reasons: bool = False) -> Report:
    """The report on the run that `wanted` asks for; its results are written."""
    from governance.adapters import clock
    from governance.adapters.files import write_all
    from governance.adapters.lines import Lines
    from governance.evals.evaluating import evaluation_report, filed
    from governance.evals.running import RunOptions
    from governance.release.sides import Place

    if wanted.record and wanted.limit is not None:
        raise Usage("--record keeps evidence of a whole suite", hint="leave --limit out")
    place = Place(find(root))
    asked = _asked(wanted, place)
    options = RunOptions(
        stream=wanted.stream, limit=wanted.limit, now=clock.stamp, tool=f"tierlock {__version__}"
    )
    path, previous = _results(wanted, place, asked, options)
    found = _evaluated(asked, options, Lines(path, go_on=wanted.resume), previous)
    report = evaluation_report(asked, found, results=_shown(path), show_reasons=show_reasons)
    if wanted.record:
        files = filed(found, place.state("worktree").source)
        write_all(Path(place.root), files)
        report.run["evidence"] = min(files)
    return report


def _asked(wanted: Wanted, place: Place) -> Asked:
    from governance.evals.asked import asked_of

    state = place.state(wanted.rev or "worktree")
    service = _service(state, wanted.service)
    asked = asked_of(
        service,
        state.source,
        suite=wanted.suite,
        url=wanted.url,
        environ=os.environ,
        root=place.root,
        observed=wanted.observed,
    )
    return replace(asked, golden=_against(wanted, place, asked.suite))


def _service(state: State, name: str) -> Service:
    """The service `name`. Raises `Usage` when there is none, `Unreadable` when a config does not load."""
    from governance.tiers.hints import nearest

    service = state.service(name)
    if service is None:
        near = nearest(name, state.bindings())
        hint = f"did you mean `{near}`?" if near else f"there are: {', '.join(state.bindings()) or 'none'}"
        raise Usage(f"there is no service `{name}` in the {state.label}", hint=hint)
    if not service.complete:
        why = state.findings[0].message if state.findings else "it is not there"
        raise Unreadable(f"a config of `{name}` does not load: {why}", hint="tierlock check")
    return service


def _against(wanted: Wanted, place: Place, suite: Suite) -> Run | None:
    """The run that `--against` names: a results file, or a release with its snapshot of the suite."""
    from governance.adapters.files import read_file
    from governance.evals.results import load_run

    if not wanted.against:
        return None
    if Path(wanted.against).is_file():
        return load_run(read_file(wanted.against), wanted.against)
    release = wanted.against.removeprefix(f"{wanted.service}@")
    path = f".tierlock/snapshots/{wanted.service}/{release}/{suite.name}.jsonl"
    try:
        return load_run(place.state("worktree").source.read(path), path)
    except Unreadable as err:
        raise Usage(
            f"`{wanted.against}` is no results file, and no release with a snapshot of `{suite.name}`",
            where=path,
            hint="tierlock release list",
        ) from err


def _results(wanted: Wanted, place: Place, asked: Asked, options: RunOptions) -> tuple[Path, Run | None]:
    """Where the results go, and the earlier run that is gone on with."""
    from governance.evals.running import frame_of

    frame = frame_of(asked.suite, asked.service, asked.endpoint, options)
    stem = f"{frame.suite}-{frame.fingerprint[:12]}-{frame.suite_digest[:12]}-"
    folder = _folder(place, wanted.service)
    if not wanted.resume:
        at = frame.started_at.replace("-", "").replace(":", "")
        return (Path(wanted.out) if wanted.out else _free(folder, f"{stem}{at}")), None
    if wanted.out:
        path = Path(wanted.out)
        return path, _earlier(path) if path.exists() else None
    for path in sorted(folder.glob(f"{stem}*.jsonl"), reverse=True):
        found = _earlier(path)
        if found is None or (found.endpoint == frame.endpoint and not _done(found)):
            return path, found
    raise Usage(
        f"there is no broken run of `{frame.suite}` with these configs to go on with",
        where=str(folder),
        hint=f"tierlock eval run {wanted.service} --suite {frame.suite}",
    )


def _done(found: Run) -> bool:
    return found.complete and all(result.answered for result in found.results)


def _free(folder: Path, stem: str) -> Path:
    """A name that is not taken: two runs may begin within one second."""
    path, number = folder / f"{stem}.jsonl", 2
    while path.exists():
        path, number = folder / f"{stem}-{number}.jsonl", number + 1
    return path


def _earlier(path: Path) -> Run | None:
    """The run in a results file; None when nothing whole was written yet."""
    from governance.adapters.files import read_file
    from governance.evals.results import load_run, whole_lines

    data = read_file(path, limit=1 << 31)
    return load_run(data, str(path)) if whole_lines(data) else None


def _folder(place: Place, service: str) -> Path:
    """Where results of this clone lie; without git in the user's cache."""
    from governance.release.deploy.target import state_folder

    try:
        return state_folder(place, service) / "evals"
    except TierlockError:
        return cache_folder("evals") / service


def _shown(path: Path) -> str:
    """The path relative to here where it is below, else whole."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _evaluated(asked: Asked, options: RunOptions, lines: Lines, previous: Run | None) -> Evaluated:
    from governance.evals.evaluating import evaluate
    from governance.evals.results import dump_run

    try:
        with lines, progress(f"asking {asked.suite.name}") as advance:
            return evaluate(
                asked,
                options=options,
                progress=advance,
                resume=previous,
                sink=lambda piece: lines.add([dump_run(piece)]),
            )
    except KeyboardInterrupt:
        _say_how_to_go_on(asked, lines.path)
        raise


def _say_how_to_go_on(asked: Asked, path: Path) -> None:
    from governance.cli.output import write

    again = f"tierlock eval run {asked.service.name} --suite {asked.suite.name} --resume"
    write(sys.stderr, f"tierlock: the results so far are in {_shown(path)}\n  go on: {again}\n")
