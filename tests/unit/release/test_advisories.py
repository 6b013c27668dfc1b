"""Advisories: which touch a release, which cannot be placed, and that no file is not "no issue"."""

from __future__ import annotations

import json

import pytest

from governance.errors import Unreadable
from governance.release.advisories import Installed, check_advisories, in_range, read_advisories
from governance.values import Unknown
from governance.verdict import Check, Outcome

RUNS = (
    Installed("engine", "vllm", "0.6.1"),
    Installed("model", "acme/tern-7b-chat", "4f1c2d9e8b7a6051a3b1c2d3e4f50617a8b9c0d1"),
    Installed("package", "torch", "2.5.1+cu124"),
    Installed("package", "corp-lib", None),
)


def judged(*entries: dict[str, str], runs: tuple[Installed, ...] = RUNS) -> Check:
    whole = [{"id": "ADV-1", "severity": "high", **entry} for entry in entries]
    return check_advisories(read_advisories(json.dumps(whole).encode(), "advisories.json"), runs)


@pytest.mark.parametrize(
    ("package", "affected", "outcome"),
    [
        ("vllm", "<0.6.3", Outcome.BLOCK),
        ("VLLM", ">=0.5,<0.6.2", Outcome.BLOCK),
        ("vllm", "<0.6.1", Outcome.PASS),
        ("vllm", "*", Outcome.BLOCK),
        ("sglang", "*", Outcome.PASS),
        ("torch", "<2.6", Outcome.BLOCK),
        ("torch", "==2.5.1", Outcome.BLOCK),
        ("torch", "<2.5", Outcome.PASS),
        ("acme/tern-7b-chat", "*", Outcome.BLOCK),
        ("Acme/Tern-7B-chat", "4f1c2d9e8b7a", Outcome.BLOCK),
        ("acme/tern-7b-chat", "0000000, 4f1c2d9", Outcome.BLOCK),
        ("acme/tern-7b-chat", "0000000", Outcome.PASS),
        ("acme/tern-7b-chat", "<2", Outcome.UNDECIDED),
        ("corp_lib", "<2", Outcome.UNDECIDED),
        ("corp_lib", "*", Outcome.BLOCK),
        ("vllm", "before 0.6.3", Outcome.UNDECIDED),
    ],
)
def test_an_advisory_touches_what_has_its_name_and_a_version_in_its_range(
    package: str, affected: str, outcome: Outcome
) -> None:
    assert judged({"package": package, "affected": affected}).outcome is outcome


def test_builds_of_llama_cpp_are_ordered_by_their_number() -> None:
    build = (Installed("engine", "llama.cpp", "b10434"),)
    assert judged({"package": "llama.cpp", "affected": "<b10500"}, runs=build).outcome is Outcome.BLOCK
    assert judged({"package": "llama-cpp", "affected": "<10434"}, runs=build).outcome is Outcome.PASS
    assert in_range("v0.8.0rc1", "<0.8") is False
    assert in_range("0.8.0rc1", ">=0.8.0rc1") is True
    assert isinstance(in_range("latest", "<2"), Unknown)


def test_a_known_hole_is_not_hidden_by_one_that_cannot_be_placed() -> None:
    check = judged({"package": "corp-lib", "affected": "<2"}, {"package": "vllm", "affected": "<1"})
    assert check.outcome is Outcome.BLOCK
    assert check.detail == "ADV-1 (high) engine vllm 0.6.1, affected <1"


def test_no_file_is_not_checked_and_one_without_a_match_says_what_was_looked_at() -> None:
    none = check_advisories(None, RUNS)
    assert none.detail.startswith("not checked")
    assert "no known" not in none.detail
    assert (
        "none of 1 touches the engine, the model or 2 packages"
        in judged({"package": "numpy", "affected": "*"}).detail
    )
    assert check_advisories(Unknown("not checked: gone"), RUNS).outcome is Outcome.UNDECIDED
    assert "none are known" in check_advisories((), RUNS[:2]).detail


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{}", "the file"),
        ("[1]", "entry 1"),
        ("[", "Expecting"),
        ('[{"id": "A", "package": "vllm", "severity": "low"}]', "entry 1 has no `affected`"),
        (
            '[{"id": "A", "package": "vllm", "affected": " ", "severity": "low"}]',
            r"`affected` of entry 1 is empty",
        ),
        ('[{"id": 7, "package": "vllm", "affected": "*", "severity": "low"}]', "`id of entry 1` is not text"),
    ],
)
def test_a_file_that_is_no_list_of_advisories_is_refused_with_its_entry(text: str, fault: str) -> None:
    with pytest.raises(Unreadable, match=fault) as err:
        read_advisories(text.encode(), "advisories.json")
    assert err.value.where == "advisories.json"
