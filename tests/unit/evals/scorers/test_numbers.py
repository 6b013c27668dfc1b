"""Numbers as people and models write them: the wrong one read is a right answer scored as wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.evals.model import Item
from governance.evals.scorers.numbers import numbers, tidy
from governance.evals.scorers.registry import score_item
from governance.values import Json


def read(text: str, point: str = ".") -> list[float]:
    return [number.value for number in numbers(tidy(text), point=point)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("42", [42]),
        ("It is 42.", [42]),
        ("-3.5 degrees", [-3.5]),
        ("−3", [-3]),
        ("from 10-12", [10, 12]),
        ("10–12", [10, 12]),
        ("2024-05-06", [2024, 5, 6]),
        ("1,234.5", [1234.5]),
        ("1,234,567", [1234567]),
        ("1, 2, 3", [1, 2, 3]),
        ("1,2,3", [1, 2, 3]),
        ("1'234.50", [1234.5]),
        ("1\u202f234", [1234]),
        ("$1,250.50", [1250.5]),
        ("-$5", [-5]),
        ("$-5", [-5]),
        (".5", [0.5]),
        ("3/4", [0.75]),
        ("2 1/2 cups", [2.5]),
        ("½", [0.5]),
        ("1½", [1.5]),
        (r"\frac{3}{4}", [0.75]),
        (r"1{,}234", [1234]),
        (r"\$72", [72]),
        ("1.2e5", [120000]),
        ("1.2 × 10^5", [120000]),
        (r"3 \times 10^{-2}", [0.03]),
        ("2.3 million euros", [2300000]),
        ("4 hundred thousand", [400000]),
        ("5 km", [5]),
        ("5km", [5]),
        ("12 %", [12]),
        ("x=5", [5]),
        ("(7)", [7]),
        ("b12 and Q4_1", []),
        ("no number", []),
        ("1/0", []),
        ("1e999", []),
        ("version 1.2.3", [1.2]),
        ("12/05/2024", [12]),
        ("in 2023 500 people", [2023, 500]),
    ],
)
def test_numbers_are_read_as_they_are_meant(text: str, values: list[float]) -> None:
    assert read(text) == pytest.approx(values)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1.234,5", [1234.5]),
        ("1 234,50 €", [1234.5]),
        ("3,14", [3.14]),
        ("12.000", [12000]),
        ("-0,5", [-0.5]),
    ],
)
def test_a_decimal_comma_is_read_where_it_is_declared(text: str, values: list[float]) -> None:
    assert read(text, ",") == pytest.approx(values)


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=2))
def test_a_number_is_read_back_from_each_way_it_is_written(value: object) -> None:
    written = (f"{value}", f"{value:,}", f"The answer is {value}.", f"**{value}**", f"${value:,}$")
    for text in written:
        assert read(text)[-1] == pytest.approx(float(value))  # type: ignore[arg-type]


@given(st.text(max_size=200))
def test_any_text_can_be_searched(text: str) -> None:
    for point in (".", ","):
        found = numbers(tidy(text), point=point)
        assert all(number.value - number.value == 0 for number in found)
        assert [number.start for number in found] == sorted(number.start for number in found)


def score(answer: str, reference: Json, **args: Json) -> bool | None:
    item = Item("x", "maths", "numeric", args=args, reference=reference)
    return score_item(item, [answer]).passed


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("3 * 4 = 12, and 12 + 30 = 42.", True),
        ("#### 42\nThis took 3 steps.", True),
        ("The answer is **42**, since 40 + 2 makes it, as in step 7.", True),
        (r"So \boxed{42} (see rule 9).", True),
        ("Answer: 41. No, wait. Answer: 42.", True),
        ("Therefore the sum is 40 + 2 = 42", True),
        ("The answer is 41. Some say 42 steps.", False),
        ("forty-two", False),
        ("420", False),
        ("4.2", False),
        ("The final answer is:\n\n42", True),
    ],
)
def test_the_number_that_is_the_answer_is_found_in_the_words_around_it(answer: str, *, right: bool) -> None:
    assert score(answer, 42) is right


def test_what_counts_as_the_answer_can_be_chosen() -> None:
    assert score("7 apples of 9", 7, take="first")
    assert score("7 apples of 9", 9, take="last")
    assert score("7 apples", 7, take="only")
    assert score("7 apples of 9", 9, take="only") is False
    assert score("it is 9", 9, take="marked") is False


def test_tolerance_is_absolute_or_relative_and_zero_by_default() -> None:
    assert score("3.14", 3.14159) is False
    assert score("3.14", 3.14159, tolerance=0.002)
    assert score("101", 100, relative=0.01)
    assert score("102", 100, relative=0.01) is False
    assert score(f"{0.1 + 0.2}", 0.3)


def test_units_are_brought_to_that_of_the_reference() -> None:
    units: dict[str, Json] = {"km": 1000, "m": 1, "cm": 0.01}
    assert score("1.5 km", 1500, units=units)
    assert score("1.5km", 1500, units=units)
    assert score("150000 cm", 1500, units=units)
    assert score("1500", 1500, units=units)
    assert score("1.5 m", 1500, units=units) is False
    assert score("It weighs 2 kg and is 1.5 KM long.", 1500, units=units)
    assert score("$3", 3, units={"$": 1, "€": 1.1})
