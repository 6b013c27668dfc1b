"""docs/serve.md: every option, code, state and key that it names is there, and none is left out."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest

from governance.cli.group import tierlock
from governance.cli.serve import command
from governance.monitor.alerts import Event, Subject, alert
from governance.monitor.codes import CODES
from governance.monitor.ledger import Ledger, turned
from governance.monitor.mismatch import Mismatch, Seen
from governance.monitor.watch import Neighbours, Watch
from governance.verdict import Change

PAGE = (Path(__file__).resolve().parents[2] / "docs/serve.md").read_text("utf-8")
NOW = 1_796_000_000.0
SUBJECT = Subject("summarizer", "v41", "5b", "gpu-7")
HOT = Seen(mismatches=(Mismatch("TL807", Change("effective", "sampling.top_k", 40, 20)),))


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_names_every_option_of_its_own() -> None:
    own = [
        option
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--") and parameter.name not in SHARED
    ]
    assert {option for option in own if option not in PAGE} == {"--no-cache"}


SHARED = {"root", "report_files", "report_format", "report_colour", "show_content"}


def test_every_code_of_the_page_is_one_of_the_catalogue() -> None:
    assert set(re.findall(r"TL8\d\d", PAGE)) <= CODES.keys()


def lines() -> list[str]:
    found = [line for block in blocks("sh") for line in block.splitlines()]
    return [line for line in found if line.startswith("tierlock ")]


@pytest.mark.parametrize("line", lines())
def test_each_command_line_is_one_that_is_taken(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    context = click.Context(tierlock)
    name, found, rest = tierlock.resolve_command(context, words)
    assert found is not None
    found.make_context(name, list(rest), parent=context)


def test_the_readiness_body_has_the_keys_of_the_page() -> None:
    neighbours = Neighbours(
        up=lambda: True,
        loaded=Seen,
        read_back=lambda: HOT,
        here=Seen,
        alarm=lambda _: "",
        say=lambda _: None,
        keep=lambda _: None,
        now=lambda: NOW,
    )
    watched = Watch(SUBJECT, Seen(uncovered=(("image", "unseen"),)), Ledger(), neighbours)
    watched.look()
    shown, said = json.loads(blocks("json")[0]), watched.answer()[1]
    assert isinstance(said, dict)
    assert list(shown) == list(said)
    assert list(shown["mismatches"][0]) == list(said["mismatches"][0])  # type: ignore[index,call-overload,arg-type]
    assert list(shown["not_covered"][0]) == list(said["not_covered"][0])  # type: ignore[index,call-overload,arg-type]


def test_an_alert_has_the_keys_and_the_events_of_the_page() -> None:
    lasting = turned(Ledger(), HOT, NOW).ledger.lasting
    assert list(json.loads(blocks("json")[1])) == list(alert(Event.MISMATCH, SUBJECT, lasting, NOW))
    for event in Event:
        assert f"`{event.value}`" in PAGE
