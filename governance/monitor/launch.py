"""What is about to be started here, and what in it no config declares.

- The launch is what the deployment of the service renders; arguments after `--` come behind it, and the
  server has the variables of this shell besides those of the launch.
- An argument or a variable that moves a value which shapes answers is a mismatch. One that only moves what
  every request of the service sets for itself is a note.
- An argument that the engine module does not know is a doubt: what it does cannot be judged.
- Where the release recorded the variables of its host, `host.py` compares them; they are not judged twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from governance.adapters import loader
from governance.adapters.environment import resolved
from governance.engines.keys import leaves
from governance.engines.keys import look as at
from governance.engines.model import Engine, Imported
from governance.engines.resolve import effect_of, engine_of, pinned, reason_of
from governance.errors import MissingTool
from governance.fingerprint.platform import choose_variables
from governance.monitor.mismatch import Doubt, Seen, shaping, together
from governance.records import dataclass
from governance.release.deploy.model import Target
from governance.tiers.config import Service
from governance.tiers.rules.variables import variable
from governance.values import ABSENT, Json, Tree, Unknown, Value
from governance.verdict import Change, LayerState

LAYER: Final = "launch"
_OVERRIDES: Final = "engine.options.generation_overrides."
_VARIABLES: Final = "environment.variables."
_DEVICES: Final = frozenset({"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"})
"""Which devices of a host a server takes; `choose_variables` leaves NVIDIA's out by itself."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is started: `program` with `argv` and the whole `environment`; `python` is its interpreter.

    `declared` are the variables that the launch itself sets.
    """

    program: Path
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    declared: Mapping[str, str]
    python: Path | Unknown


def plan(
    target: Target, extra: Sequence[str], environ: Mapping[str, str], python: Path | None = None
) -> Plan:
    """The start of `target` with `extra` arguments in the environment `environ`.

    Raises `MissingTool` when the program is not here, `Usage` for a reference to a variable that is not set.
    """
    name = target.launch.argv[0]
    environment = {**environ, **resolved(target.launch.environment, environ)}
    program = loader.find(name, folder=target.root, path=environment.get("PATH"))
    if program is None:
        raise MissingTool(
            f"the program `{name}` is not on this host",
            where="deploy.binary",
            hint="install the engine, or say where it lies: `deploy.binary` in tierlock.yaml",
        )
    argv = (str(program), *target.launch.argv[1:], *extra)
    declared = dict(target.launch.environment)
    return Plan(program, argv, environment, declared, python or loader.python_of(program))


def look(service: Service, target: Target, planned: Plan, *, variables: bool) -> Seen:
    """What the arguments after `--` move and, with `variables`, what the variables of this shell do."""
    argv, declared = target.launch.argv, target.launch.environment
    extra = planned.argv[len(argv) :]
    sampling = service.sampling.tree if service.sampling else {}
    base = service.base.tree if service.base else {}
    judge = _Judge(base, argv, declared, pinned(sampling))
    looks = [judge.arguments(extra)]
    if variables:
        looks += [judge.variable(name, value) for name, value in _undeclared(planned)]
    seen = together(looks)
    state = "changed" if seen.mismatches else "unknown" if seen.doubts else "same"
    return together((Seen((LayerState(LAYER, state),)), seen))


def _undeclared(planned: Plan) -> list[tuple[str, str]]:
    """The variables that shape answers and that the launch does not set."""
    entered, _ = choose_variables(planned.environment)
    return [
        (name, value)
        for name, value in entered.items()
        if name not in planned.declared and name not in _DEVICES
    ]


class _Judge:
    """The declared launch as its engine reads it, and what one thing more would move."""

    def __init__(
        self, base: Tree, argv: Sequence[str], declared: Mapping[str, str], fixed: frozenset[str]
    ) -> None:
        engine, version = engine_of(base), str(at(base, "engine.version"))
        self.engine = engine
        self.argv = tuple(argv)
        self.declared = declared
        self.fixed = fixed
        self.before = engine.parse(self.argv, declared)
        self.read = _variables_read(engine, version)

    def arguments(self, extra: Sequence[str]) -> Seen:
        """What `extra` moves."""
        if not extra:
            return Seen()
        after = self.engine.parse((*self.argv, *extra), self.declared)
        known = {finding.message for finding in self.before.findings}
        strange = [finding.message for finding in after.findings if finding.message not in known]
        doubts = (Doubt(LAYER, "; ".join(strange), code="TL812"),) if strange else ()
        return together((self._moved(after, "arguments after --"), Seen(doubts=doubts)))

    def variable(self, name: str, value: str) -> Seen:
        """What one variable moves: a value that the engine reads from it, else the variable itself."""
        after = self.engine.parse(self.argv, {**self.declared, name: value})
        moved = self._moved(after, f"variable {name} of this shell")
        if moved.mismatches or moved.notes:
            return moved
        if name in self.read:
            return Seen(notes=(f"variable {name} of this shell moves nothing: the launch says its own",))
        change = Change(
            LAYER, name, ABSENT, value, "no config declares it", f"variable {name} of this shell",
            effect=variable(name).reason,
        )  # fmt: skip
        return shaping("TL802", (change,))

    def _moved(self, after: Imported, source: str) -> Seen:
        changes: list[Change] = []
        notes: list[str] = []
        for key, old, new in _differences(self.before, after):
            name = key.removeprefix("sampling.")
            if f"sampling.{name}" in self.fixed and key.startswith("sampling."):
                notes.append(f"{source}: the default of `{name}` is {new}; every request sets its own")
            else:
                changes.append(
                    Change(LAYER, key, old, new, "declared", source, effect_of(key), reason_of(key))
                )
        return together((shaping("TL802", changes), Seen(notes=tuple(notes))))


def _variables_read(engine: Engine, version: str) -> frozenset[str]:
    """The variables that stand for an option of the engine: its command line outranks them."""
    table = engine.table(version)
    if isinstance(table, Unknown):
        return frozenset()
    return frozenset(option.env for option in table.options.values() if option.env)


def _differences(before: Imported, after: Imported) -> Iterator[tuple[str, Value, Value]]:
    """Each key whose value differs. A server's own default of a sampling parameter is told under the name of
    the parameter, a variable by the caller.
    """
    old, new = _flat(before), _flat(after)
    for key in sorted({*old, *new}):
        one, two = old.get(key, ABSENT), new.get(key, ABSENT)
        if one != two and not key.startswith(_VARIABLES):
            yield key, one, two


def _flat(said: Imported) -> dict[str, Json]:
    found: dict[str, Json] = {}
    trees: tuple[tuple[str, Tree], ...] = (
        ("", said.base), ("sampling.", said.sampling), ("prompts.", said.prompts)
    )  # fmt: skip
    for prefix, tree in trees:
        for key, value in leaves(tree, prefix):
            plain = f"sampling.{key.removeprefix(_OVERRIDES)}" if key.startswith(_OVERRIDES) else key
            found[plain] = value
    return found
