"""A class made by `governance.records` is what `dataclasses` would have made, whatever is done with it."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

import governance
from tests.support.command import ROOT, environment

SOURCE = '''
from __future__ import annotations

from typing import ClassVar

from {module} import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Plain:
    """Two needed, one with a default."""

    a: int
    b: str
    c: float = 1.5

    @property
    def both(self) -> str:
        return f"{{self.a}}{{self.b}}"


@dataclass(frozen=True, slots=True)
class Filled:
    """Defaults of every kind."""

    a: dict[str, int] = field(default_factory=dict)
    b: tuple[int, ...] = field(default=(), compare=False)
    c: list[int] = field(default_factory=list, repr=False)


@dataclass(frozen=True, slots=True, order=True)
class Ordered:
    """Sorted by its fields."""

    tier: str
    name: str


@dataclass(slots=True, kw_only=True)
class Open:
    """Can be changed."""

    a: int
    b: list[int] = field(default_factory=list)


@dataclass(slots=True)
class One:
    """A single field."""

    a: object = None


@dataclass(frozen=True, slots=True)
class Empty:
    """None at all."""


@dataclass(frozen=True)
class NoSlots:
    """Handed to the real one."""

    a: int
    kind: ClassVar[str] = "k"


@dataclass
class Own:
    """Handed to the real one."""

    a: int
    b: list[int] = field(default_factory=list)

    def __eq__(self, other: object) -> bool:
        return True
'''
CALLS: dict[str, list[dict[str, Any]]] = {
    "Plain": [{"a": 1, "b": "x"}, {"a": 1, "b": "x", "c": 2.0}, {"a": 1, "b": "x"}],
    "Filled": [{}, {"a": {"k": 1}}, {"b": (1,)}, {"c": [1]}],
    "Ordered": [{"tier": "base", "name": "a"}, {"tier": "base", "name": "b"}, {"tier": "a", "name": "z"}],
    "Open": [{"a": 1}, {"a": 2, "b": [1]}, {"a": 1}],
    "One": [{}, {"a": 1}],
    "Empty": [{}],
    "NoSlots": [{"a": 1}, {"a": 2}],
    "Own": [{"a": 1}, {"a": 2}],
}


def made(name: str, source: str) -> ModuleType:
    """A module of this name with the classes above, made by `source`."""
    module = ModuleType(name)
    sys.modules[name] = module
    exec(compile(SOURCE.format(module=source), name, "exec"), module.__dict__)
    return module


OURS = made("tests_records_ours", "governance.records")
REAL = made("tests_records_real", "dataclasses")


def outcome(action: Any) -> Any:
    """What `action` gives, or the kind and words of what it raises."""
    try:
        return action()
    except Exception as err:  # noqa: BLE001  whatever it is, both must raise it
        return type(err).__name__, str(err).replace(REAL.__name__, OURS.__name__)


@pytest.mark.parametrize("name", CALLS)
class TestSameAsTheRealOne:
    def pairs(self, name: str) -> list[tuple[Any, Any]]:
        return [(getattr(OURS, name)(**call), getattr(REAL, name)(**call)) for call in CALLS[name]]

    def test_repr_values_and_hash(self, name: str) -> None:
        for ours, real in self.pairs(name):
            assert repr(ours) == repr(real)
            assert outcome(lambda ours=ours: hash(ours)) == outcome(lambda real=real: hash(real))
            assert dataclasses.asdict(ours) == dataclasses.asdict(real)

    def test_equality_and_order(self, name: str) -> None:
        pairs = self.pairs(name)
        for left_ours, left_real in pairs:
            for right_ours, right_real in pairs:
                assert (left_ours == right_ours) == (left_real == right_real)
                assert outcome(lambda a=left_ours, b=right_ours: a < b) == outcome(
                    lambda a=left_real, b=right_real: a < b
                )
            assert name == "Own" or left_ours != left_real

    def test_assignment_and_deletion(self, name: str) -> None:
        for field in dataclasses.fields(getattr(REAL, name)):
            for action in (lambda it, key: setattr(it, key, 5), delattr):
                ours, real = self.pairs(name)[0]
                one, other = (
                    outcome(lambda it=it, do=action, key=field.name: do(it, key)) for it in (ours, real)
                )
                assert one == other

    def test_an_attribute_that_is_no_field_is_refused_where_there_are_slots(self, name: str) -> None:
        ours, real = self.pairs(name)[0]
        for it in (ours, real):
            if not hasattr(it, "__dict__"):
                with pytest.raises((AttributeError, TypeError)):
                    it.nothing = 5

    @pytest.mark.parametrize("call", [{}, {"a": 1}, {"a": 1, "b": "x", "zzz": 1}])
    def test_wrong_calls_are_refused_in_the_same_words(self, name: str, call: dict[str, Any]) -> None:
        ours = outcome(lambda: repr(getattr(OURS, name)(**call)))
        assert ours == outcome(lambda: repr(getattr(REAL, name)(**call)))

    def test_signature_fields_and_options(self, name: str) -> None:
        ours, real = getattr(OURS, name), getattr(REAL, name)
        assert [str(p) for p in inspect.signature(ours).parameters] == [
            str(p) for p in inspect.signature(real).parameters
        ]
        assert ours.__init__.__annotations__.keys() == real.__init__.__annotations__.keys()
        assert ours.__match_args__ == real.__match_args__
        assert ours.__doc__ == real.__doc__
        assert repr(ours.__dataclass_params__) == repr(real.__dataclass_params__)
        told = ("name", "type", "default", "repr", "hash", "init", "compare", "kw_only")
        assert [[getattr(f, key) for key in told] for f in dataclasses.fields(ours)] == [
            [getattr(f, key) for key in told] for f in dataclasses.fields(real)
        ]
        assert dataclasses.is_dataclass(ours)

    def test_copies_pickles_and_replacements(self, name: str) -> None:
        for ours, _ in self.pairs(name):
            assert copy.copy(ours) == ours
            assert copy.deepcopy(ours) == ours
            assert pickle.loads(pickle.dumps(ours)) == ours
            assert dataclasses.replace(ours) == ours
            assert OURS.replace(ours) == ours

    def test_no_room_for_other_attributes(self, name: str) -> None:
        ours, real = self.pairs(name)[0]
        assert hasattr(ours, "__dict__") == hasattr(real, "__dict__")


def test_each_instance_has_its_own_default_list() -> None:
    assert OURS.Filled().a is not OURS.Filled().a


def test_replace_changes_one_field_and_refuses_an_unknown_one() -> None:
    assert OURS.replace(OURS.Plain(1, "x"), b="y") == OURS.Plain(1, "y")
    with pytest.raises(TypeError, match="nothing"):
        OURS.replace(OURS.Plain(1, "x"), nothing=1)


def test_a_mutable_default_is_refused() -> None:
    from governance.records import dataclass

    with pytest.raises(ValueError, match="mutable default"):

        @dataclass(frozen=True, slots=True)
        class Wrong:
            """A list for all."""

            a: list[int] = []  # noqa: RUF012


def test_a_match_statement_takes_it_apart() -> None:
    match OURS.Plain(1, "x"):
        case OURS.Plain(a, b):
            assert (a, b) == (1, "x")


def test_every_class_of_the_package_is_what_the_real_one_would_be() -> None:
    """Whatever is added later is held to it too."""
    seen = 0
    for info in pkgutil.walk_packages(governance.__path__, "governance."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for found in vars(module).values():
            if isinstance(found, type) and found.__module__ == info.name and "__record__" in vars(found):
                seen += 1
                names = [one.name for one in dataclasses.fields(found)]  # type: ignore[arg-type]
                assert names == list(found.__record__) == list(found.__init__.__annotations__)[:-1], found  # type: ignore[attr-defined, misc]
                assert list(inspect.signature(found).parameters) == names
    assert seen > 20


def test_the_hook_does_without_the_real_one(tmp_path: object) -> None:
    code = "import sys, governance.tiers.check, governance.cli.judge; print('dataclasses' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, check=True
    )
    assert done.stdout == b"False\n"
