"""Whether every file of the model is where the server will look, with the digest that was released.

- Expected are the files of the base config, and those that the release captured beside them (tokenizer,
  generation config): they shape answers as well.
- Where they lie is what the deployment says (`deploy.weights`, a mount) or a `model.id` that is a path, else
  the hub cache of this host.
- In the image: its digest stands for them. Fetched by the engine when it starts: the hub must still have the
  commit.
- Missing or other bytes block, with each file named. What cannot be looked at from here is undecided.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from governance.engines.keys import look
from governance.errors import TierlockError, Unreachable
from governance.release.deploy.target import CONTAINED, Weights, model_path, weights_of
from governance.release.restorable.model import HERE, ON_HOST, Neighbours, Subject
from governance.values import Unknown
from governance.verdict import Check, Outcome

NAME: Final = "weights"
ALGORITHMS: Final = ("sha256", "blake3")
SHOWN: Final = 4


def check_weights(subject: Subject, world: Neighbours) -> Check:
    """The check `weights` of one release."""
    place = weights_of(subject.service, subject.root)
    expected = expected_files(subject)
    if isinstance(expected, Unknown):
        return Check(NAME, Outcome.UNDECIDED, expected.reason)
    if place.host is not None:
        return _on_host(subject, place.host, expected, world)
    return _elsewhere(subject, place, expected, world)


def expected_files(subject: Subject) -> Mapping[str, str] | Unknown:
    """Name to `algorithm:hex` of every file that was released; empty when nobody listed any."""
    declared = look(subject.base, "model.weights.files")
    found = {str(k): str(v) for k, v in declared.items()} if isinstance(declared, Mapping) else {}
    try:
        capture = subject.record.captured()
    except TierlockError as err:
        return Unknown(err.message)
    captured = capture.weights if capture is not None else None
    if captured is None or isinstance(captured, Unknown):
        return found
    return {**{file.name: file.blake3 for file in captured.files}, **found}


def _on_host(subject: Subject, host: Path, expected: Mapping[str, str], world: Neighbours) -> Check:
    if not expected:
        told = "neither the base config nor the release lists a file with its digest: nothing to hold them to"
        return Check(NAME, Outcome.UNDECIDED, told)
    paths = _paths(host, expected, world)
    missing = [name for name, path in paths.items() if not world.is_file(path)]
    if missing:
        told = f"{_listed(missing)} not in {_shown(host, subject)}"
        if subject.driver in HERE:
            return Check(NAME, Outcome.BLOCK, told)
        return Check(NAME, Outcome.UNDECIDED, f"{told} of this host, and the service may run on another")
    wanted = [(path, expected[name].partition(":")[0]) for name, path in paths.items()]
    odd = [algorithm for _, algorithm in wanted if algorithm not in ALGORITHMS]
    if odd:
        return Check(NAME, Outcome.UNDECIDED, f"digests by {odd[0]} are not computed by this version")
    return _compared(dict(zip(paths, world.hash_files(wanted), strict=True)), expected)


def _compared(found: Mapping[str, str | Unknown], expected: Mapping[str, str]) -> Check:
    other = [
        f"{name} is {value[:12]}, released was {expected[name].partition(':')[2][:12]}"
        for name, value in found.items()
        if not isinstance(value, Unknown) and value != expected[name].partition(":")[2]
    ]
    if other:
        more = f" and {len(other) - SHOWN} more" if len(other) > SHOWN else ""
        return Check(NAME, Outcome.BLOCK, "; ".join(other[:SHOWN]) + more)
    doubts = [f"{name}: {value.reason}" for name, value in found.items() if isinstance(value, Unknown)]
    if doubts:
        return Check(NAME, Outcome.UNDECIDED, "; ".join(doubts[:SHOWN]))
    count = len(found)
    return Check(NAME, Outcome.PASS, f"{count} file{'s' * (count != 1)} with the released digest")


def _elsewhere(subject: Subject, place: Weights, expected: Mapping[str, str], world: Neighbours) -> Check:
    model, revision = (str(look(subject.base, key)) for key in ("model.id", "model.revision"))
    if subject.driver in CONTAINED and place.told is not None:
        return Check(NAME, Outcome.PASS, f"in the image at {place.told}: its digest stands for them")
    if subject.driver in ON_HOST and expected:
        told = f"{_listed(list(expected))} not on this host: `{model}` is not in the hub cache"
        return Check(NAME, Outcome.BLOCK, f"{told}, and deploy.weights says no place")
    try:
        now = world.hub(model, revision)
    except Unreachable as err:
        told = f"they are fetched when the server starts, and {err.message}"
        return Check(NAME, Outcome.UNDECIDED, told)
    if isinstance(now, Unknown):
        return Check(NAME, Outcome.BLOCK, f"they are fetched when the server starts, and {now.reason}")
    return Check(NAME, Outcome.PASS, f"fetched when the server starts: the hub has {model} at {now[:12]}")


def _paths(host: Path, expected: Mapping[str, str], world: Neighbours) -> dict[str, Path]:
    """Where each expected file lies. A single file stands for the one of its name, or for the only one."""
    if not (host.suffix == ".gguf" or world.is_file(host)):
        return {name: host / name for name in expected}
    if host.name in expected:
        return {name: host if name == host.name else host.parent / name for name in expected}
    if len(expected) == 1:
        return dict.fromkeys(expected, host)
    return {name: host.parent / name for name in expected}


def _shown(host: Path, subject: Subject) -> str:
    """The place as the deployment writes it, else without what is above the hub cache."""
    given = subject.deploy.get("weights", model_path(subject.base))
    return f"`{given}`" if isinstance(given, str) else f"`{host.name}` of the hub cache"


def _listed(names: list[str]) -> str:
    told = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    return f"{told} {'is' if len(names) == 1 else 'are'}"
