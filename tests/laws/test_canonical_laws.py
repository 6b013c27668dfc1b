"""Laws of the canonical form: to the byte what another implementation of RFC 8785 writes."""

from __future__ import annotations

import json
import math
import struct
from random import Random
from typing import Any

import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from governance.tiers.canonical import canonical, canonical_exactly, digest, number_text
from governance.values import Json

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NUMBERS = st.one_of(
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(0, 2).map(lambda number: round(number, 3)),
    st.integers(-(2**60), 2**60).map(float),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(TEXT, inner, max_size=5)),
    max_leaves=25,
)


@settings(max_examples=1000, deadline=None)
@given(VALUES)
def test_the_bytes_are_those_of_another_implementation(value: Any) -> None:
    assert canonical(value) == canonical_exactly(value) == rfc8785.dumps(value)


@settings(max_examples=300, deadline=None)
@given(VALUES)
def test_the_bytes_read_back_as_the_value(value: Any) -> None:
    """RFC 8785 numbers are doubles: whoever reads the bytes as such gets the value back."""
    assert json.loads(canonical(value), parse_int=float) == value


@settings(max_examples=300, deadline=None)
@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(value: Any, random: Random) -> None:
    assert digest(value) == digest(_shuffled(value, random))


@settings(max_examples=300, deadline=None)
@given(VALUES, VALUES)
def test_equal_bytes_are_equal_values(left: Any, right: Any) -> None:
    assert (canonical(left) == canonical(right)) == (_apart(left) == _apart(right))


def test_random_doubles_are_written_as_another_implementation_writes_them() -> None:
    random = Random(20261130)
    for number in _doubles(random, 20_000):
        expected = rfc8785.dumps(number)
        assert number_text(number).encode() == expected
        assert canonical([number]) == b"[" + expected + b"]"


def _doubles(random: Random, count: int) -> list[float]:
    """Doubles of random bits, of random decimals, and next to powers of ten, where the notation changes."""
    found: list[float] = []
    while len(found) < count:
        bits: float = struct.unpack(">d", random.randbytes(8))[0]
        near = 10.0 ** random.randint(-30, 30)
        found += [
            each
            for each in (bits, round(random.random() * near, random.randint(0, 9)))
            if math.isfinite(each)
        ]
        found += [near, math.nextafter(near, 0), math.nextafter(near, math.inf)]
    return found


def _shuffled(value: Json, random: Random) -> Json:
    if isinstance(value, dict):
        items = list(value.items())
        random.shuffle(items)
        return {key: _shuffled(each, random) for key, each in items}
    if isinstance(value, list):
        return [_shuffled(each, random) for each in value]
    return value


def _apart(value: Json) -> object:
    """`value` so that only what JSON tells apart is apart: true from 1, not 1 from 1.0."""
    if isinstance(value, dict):
        return {key: _apart(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_apart(each) for each in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ("number", float(value))
    return (type(value).__name__, value)
