"""Templates are read without being run, with or without Jinja, and rendered in a sandbox."""

from __future__ import annotations

import subprocess
import sys
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.errors import Unreadable
from governance.tiers import templates
from governance.tiers.templates import read_template, render

NAMES = st.sampled_from(["article", "x", "note_2", "_a"])
PIECES = st.lists(
    st.one_of(st.text("ab {}\n%#.é", max_size=6), NAMES.map(lambda n: "{{ " + n + " }}")), max_size=8
)


@given(PIECES)
def test_the_short_reading_agrees_with_jinja(pieces: list[str]) -> None:
    """Most templates are read without Jinja; a difference would make findings depend on the spelling."""
    source = "".join(pieces)
    short = not any(mark in source for mark in ("{%", "{#", "{{{"))
    quick = templates._read_simple(source) if short else None
    if quick is None:
        return
    exact = templates._read_with_jinja(source, chat=False)
    assert exact.fault is None
    assert sorted(quick.variables, key=repr) == sorted(exact.variables, key=repr)
    assert (quick.names, quick.text) == (exact.names, exact.text)


def test_a_simple_template_loads_no_jinja() -> None:
    code = (
        "import sys; from governance.tiers.templates import read_template;"
        "read_template('Read {{ article }}.'); sys.exit('jinja2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "source",
    [
        "{{ x }",
        "{{ x | random }}",
        "{% if a and %}",
        "{{ loop.index }}",
        "{{ range(3) }}",
        "{{ 'a' if x else y }}",
        "{{{ x }}}",
        "{{ ''.__class__ }}",
        "{% generation %}a{% endgeneration %}",
        "{% raw %}{{ x }}{% endraw %}",
        "{%",
        "{{" * 500,
        "{% if x %}" * 3000,
        "\x00{{ x }}",
    ],
)
def test_no_source_makes_the_reader_raise(source: str) -> None:
    for chat in (False, True):
        assert read_template(source, chat=chat) is not None


def test_chat_templates_know_generation_blocks_and_loop_controls() -> None:
    source = (
        "{% for m in messages %}{% if m.x %}{% continue %}{% endif %}"
        "{% generation %}{{ m }}{% endgeneration %}{% endfor %}"
    )
    assert read_template(source, chat=True).fault is None
    assert read_template(source).fault is not None


def test_a_guard_covers_the_branch_it_opens_and_no_more() -> None:
    (use,) = read_template("{% if note is defined %}{{ note }}{% endif %}").variables
    assert use.guarded
    (use,) = read_template("{% if note is defined %}{% endif %}\n{{ note }}").variables
    assert (use.guarded, use.line) == (False, 2)


def test_the_clock_the_dice_and_frozen_dates_are_seen() -> None:
    source = (
        "{% if today is defined %}{{ today }}{% elif strftime_now is defined %}{{ strftime_now('%d %b') }}"
        "{% else %}26 Jul 2024{% endif %}{{ ['a', 'b'] | random }}"
    )
    seen = read_template(source, chat=True)
    assert [use.name for use in seen.clock] == ["strftime_now"]
    assert [use.name for use in seen.dates] == ["26 Jul 2024"]
    assert [use.name for use in seen.random] == ["random"]


def test_a_date_that_is_just_text_is_no_frozen_date() -> None:
    assert read_template("The law of 2023-02-01 applies. {{ x }}{% if x %}y{% endif %}").dates == ()


def test_rendering_keeps_the_last_newline_of_a_template_and_drops_that_of_a_chat_template() -> None:
    assert render("a {{ x }}\n", {"x": "b"}) == "a b\n"
    assert render("a {{ x }}\n", {"x": "b"}, chat=True) == "a b"


def test_an_undefined_variable_is_an_error_and_never_an_empty_text() -> None:
    with pytest.raises(Unreadable, match="undefined"):
        render("a {{ x }}", {})


def test_the_date_is_the_one_that_is_handed_in() -> None:
    source = "{{ strftime_now('%Y-%m-%d') }}"
    assert render(source, {}, chat=True, today=date(2026, 11, 2)) == "2026-11-02"
    with pytest.raises(Unreadable, match="not pinned"):
        render(source, {}, chat=True)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ x.__init__.__globals__ }}",
        "{% for i in range(10000000) %}x{% endfor %}",
        "{{ 1 / 0 }}",
        "{{ x.append(1) }}",
        "{{ raise_exception('no') }}",
    ],
)
def test_the_sandbox_refuses_what_reaches_outside(source: str) -> None:
    with pytest.raises(Unreadable):
        render(source, {"x": [1]})
