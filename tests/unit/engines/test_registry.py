"""Every engine in the table is a module with the names of the `Engine` protocol."""

from __future__ import annotations

import inspect

import pytest

from governance.engines import registry
from governance.engines.model import Engine
from governance.errors import Usage

WANTED = [n for n, v in vars(Engine).items() if inspect.isfunction(v) and not n.startswith("_")]


@pytest.mark.parametrize("name", registry.ENGINES)
def test_an_engine_module_has_every_name_of_the_protocol(name: str) -> None:
    engine = registry.load(name)
    assert name == engine.NAME
    for wanted in WANTED:
        function = getattr(engine, wanted)
        declared = list(inspect.signature(getattr(Engine, wanted)).parameters)[1:]
        assert list(inspect.signature(function).parameters)[: len(declared)] == declared, wanted
        assert function.__doc__


def test_an_unknown_engine_is_a_usage_error_that_lists_the_known() -> None:
    with pytest.raises(Usage) as refused:
        registry.load("abacus")
    assert "vllm" in refused.value.hint
