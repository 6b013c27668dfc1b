"""Importing a launch never ends in a traceback, whatever somebody wrote; a wrong word is a finding."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from governance.engines import llama_cpp, ollama, tgi, transformers
from governance.engines.keys import leaves
from governance.engines.model import Imported
from governance.engines.option_values import every_option

WORDS = st.one_of(
    st.sampled_from(
        ["", "-", "--", "0", "-1", "1e400", "nan", "true", "a,b", "a:b", ":", "=", "3,1", "{", "é"]
    ),
    st.text(max_size=8),
)


def flags(engine: str) -> st.SearchStrategy[str]:
    options = every_option(engine).options.values()
    known = sorted({flag for option in options for flag in (*option.flags, option.negation) if flag})
    return st.one_of(st.sampled_from(known), WORDS)


def variables(engine: str) -> st.SearchStrategy[dict[str, str]]:
    known = sorted({option.env for option in every_option(engine).options.values() if option.env}) or ["HOME"]
    return st.dictionaries(st.sampled_from(known), WORDS, max_size=4)


def is_json(found: Imported) -> bool:
    for tree in (found.base, found.sampling, found.prompts):
        json.dumps(tree, allow_nan=False)
        assert all(key for key, _ in leaves(tree))
    return True


ENGINES = {"llama.cpp": llama_cpp, "tgi": tgi, "transformers": transformers}


@pytest.mark.parametrize("engine", sorted(ENGINES))
@given(data=st.data())
@settings(max_examples=150)
def test_any_command_line_is_read_without_an_exception(engine: str, data: st.DataObject) -> None:
    argv = [engine, *data.draw(st.lists(st.one_of(flags(engine), WORDS), max_size=8))]
    environment = data.draw(variables(engine))
    assert is_json(ENGINES[engine].parse(argv, environment))  # type: ignore[attr-defined]


@given(
    st.lists(st.one_of(st.sampled_from(["serve", "run", "-v"]), WORDS), max_size=4),
    st.dictionaries(st.sampled_from(sorted(ollama.VARIABLES)), WORDS, max_size=4),
)
def test_any_ollama_command_is_read_without_an_exception(
    argv: list[str], environment: dict[str, str]
) -> None:
    assert is_json(ollama.parse(["ollama", *argv], environment))


@given(
    st.lists(
        st.tuples(st.one_of(st.sampled_from([*ollama.SAMPLING, *ollama.ENGINE]), WORDS), WORDS), max_size=6
    )
)
def test_any_modelfile_parameter_is_read_without_an_exception(pairs: list[tuple[str, str]]) -> None:
    assert is_json(ollama.parameters(pairs))


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_an_empty_command_leaves_everything_open(engine: str) -> None:
    found = ENGINES[engine].parse([], {})  # type: ignore[attr-defined]
    assert found.base == {"engine": {"name": engine}}
    assert found.left_open
