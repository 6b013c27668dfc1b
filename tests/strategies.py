"""Hypothesis strategies that several suites share. Append only."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from governance.engines.argparse_launch import Vocabulary
from governance.engines.bindings import Binding
from governance.engines.keys import put
from governance.engines.model import Option, OptionTable
from governance.values import Json

WORD = st.from_regex(r"[a-z][a-z0-9_]{0,11}", fullmatch=True)
PATH = st.from_regex(r"[a-z]{1,8}/[A-Za-z0-9.]{1,12}", fullmatch=True)
JSON_OBJECTS = st.dictionaries(
    WORD,
    st.one_of(st.booleans(), st.integers(-1000, 100000), WORD, st.lists(WORD, max_size=3)),
    min_size=1,
    max_size=3,
)


def option_values(option: Option) -> st.SearchStrategy[Json]:
    """Values one argument of `option` can say."""
    strategies: dict[str, st.SearchStrategy[Any]] = {
        "int": st.integers(0, 10**6),
        "float": st.floats(0, 1000, allow_nan=False).map(float),
        "number": st.integers(0, 1000),
        "json": JSON_OBJECTS,
        "list": st.lists(WORD, min_size=1, max_size=3),
    }
    if option.type == "bool":
        return st.booleans() if option.negation or option.choices else st.just(True)
    if option.choices and option.type == "list":
        return st.lists(st.sampled_from(option.choices), min_size=1, max_size=3, unique=True)
    if option.choices:
        kind = {"int": int, "float": float}.get(option.type, str)
        return st.sampled_from([kind(choice) for choice in option.choices])
    return strategies.get(option.type, WORD)


def _sayable(binding: Binding, said: Json) -> bool:
    """Whether the value survives both directions of the binding."""
    ours = binding.codec.to_config(said)
    if ours is None:
        return False
    try:
        return binding.codec.to_engine(ours) == said
    except ValueError:
        return False


@st.composite
def launch_bases(draw: st.DrawFn, words: Vocabulary, table: OptionTable) -> dict[str, Json]:
    """Base trees that hold only what a launch of this engine and version can say."""
    base: dict[str, Json] = {}
    put(base, "engine.name", words.engine)
    put(base, "engine.version", table.version)
    put(base, "model.id", draw(PATH))
    bound: set[str] = set(words.special | words.operational)
    bound.update(name for binding in words.bindings for name in binding.names)
    here = [binding for binding in words.bindings if binding.option(table) is not None]
    for index in sorted(draw(st.sets(st.integers(0, len(here) - 1), max_size=8))):
        binding, option = here[index], here[index].option(table)
        assert option is not None
        said = draw(option_values(option))
        if binding.codec.to_config(["7"]) == [7]:
            said = [str(n) for n in draw(st.lists(st.integers(1, 512), min_size=1, max_size=3))]
        if _sayable(binding, said) or isinstance(said, list):
            put(base, binding.key, binding.codec.to_config(said))
    bound.update(name for group in words.groups for name in group.names)
    bound.update(part.name for part in words.parts)
    free = sorted(n for n, o in table.options.items() if n not in bound and o.flags and "." not in n)
    extra = {
        n.replace("_", "-"): draw(option_values(table.options[n]))
        for n in draw(st.sets(st.sampled_from(free), max_size=3))
    }
    if extra:
        put(base, "engine.extra", extra)
    return base
