"""Laws of validation: three ways to judge a tree, one verdict.

The models are what we mean, the compiled schema is what runs, the walk that words errors is what people read.
A tree that one accepts and another refuses would either pass unseen or be refused without a reason.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from pydantic import ValidationError

from governance.tiers import compiled
from governance.tiers.explain import explain
from governance.tiers.schemas.build import MODELS
from tests.support.trees import damaged, random_tree

ROUNDS = {"base": 6000, "sampling": 5000, "prompts": 5000, "services": 4000, "few_shot": 1000}


def by_model(kind: str, tree: Any) -> Any:
    """What the pydantic model makes of `tree`: the keys that are set, or None when it refuses."""
    try:
        return MODELS[kind].model_validate(tree).model_dump(exclude_unset=True, by_alias=True)
    except ValidationError:
        return None


def by_compiled(kind: str, tree: Any) -> Any:
    try:
        return compiled.validator(kind).validate_python(tree)
    except compiled.core().ValidationError:
        return None


def exact(value: Any) -> Any:
    """`value` so that 1, 1.0 and true are apart and key order does not count."""
    if isinstance(value, dict):
        return {key: exact(each) for key, each in value.items()}
    if isinstance(value, list):
        return [exact(each) for each in value]
    return (type(value).__name__, repr(value))


@pytest.mark.parametrize("kind", compiled.KINDS)
def test_models_compiled_schema_and_wording_agree_on_damaged_trees(kind: str) -> None:
    rng = random.Random(20261130)
    refused = 0
    for number in range(ROUNDS[kind]):
        tree = damaged(random_tree(kind, rng, density=0.1 + 0.4 * rng.random()), rng)
        model, fast = by_model(kind, tree), by_compiled(kind, tree)
        flaws = explain(kind, compiled.schema(kind), tree)
        assert exact(model) == exact(fast), (number, tree)
        assert (fast is None) == bool(flaws), (number, tree, flaws)
        refused += fast is None
    assert 0.5 < refused / ROUNDS[kind] < 0.99, "the damage must neither spare nor break nearly everything"


@pytest.mark.parametrize("kind", compiled.KINDS)
def test_a_tree_made_from_the_schema_is_accepted_and_comes_back_equal(kind: str) -> None:
    rng = random.Random(7)
    for _ in range(500):
        tree = random_tree(kind, rng, density=0.5)
        clean = by_compiled(kind, tree)
        assert clean == tree, explain(kind, compiled.schema(kind), tree)
        assert exact(by_compiled(kind, clean)) == exact(clean)


@pytest.mark.parametrize("kind", compiled.KINDS)
def test_the_order_of_keys_never_changes_what_validation_gives(kind: str) -> None:
    rng = random.Random(11)
    for _ in range(200):
        tree = random_tree(kind, rng, density=0.5)
        turned = dict(reversed(list(tree.items())))
        one, other = by_compiled(kind, tree), by_compiled(kind, turned)
        assert exact(one) == exact(other)
        assert list(one) == list(other), "the schema decides the order"
