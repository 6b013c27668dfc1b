"""What pip-audit says of a release, with everything counted that nobody could look up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from governance.adapters.audit import Audited, Pin, Vulnerability
from governance.errors import MissingTool
from governance.fingerprint.packages import CondaPackage, Package, Packages
from governance.fingerprint.record import Capture
from governance.release.restorable.packages import check_packages
from governance.values import Unknown
from governance.verdict import Check, Outcome
from tests.support.drilled import service, subject, world

LISTED = Packages(
    "environment",
    (
        Package("jinja2", "2.4.1"),
        Package("torch", "2.5.1+cu124"),
        Package("vllm", "0.7.3", vcs="git+" + "a" * 40),
        Package("work", None, editable=True, doubt="installed from a working folder (editable)"),
    ),
    (CondaPackage("cuda-toolkit", "12.4", "0", "nvidia", ""), CondaPackage("jinja2", "2.4.1", "0", "x", "")),
)
HOLE = Vulnerability("PYSEC-1", ("CVE-1",), ("2.4.2",))


def judged(listed: Packages | Unknown | None = LISTED, answer: Any = None, **policy: Any) -> Check:
    def audit(pins: Sequence[Pin], kind: str, url: str) -> Any:
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Unknown):
            return answer
        said: Mapping[str, Any] = answer or {}
        return tuple(said.get(name) or Audited(name, version) for name, version in pins)

    capture = None if listed is None else Capture("2026-11-30T12:00:00Z", "tierlock", packages=listed)
    return check_packages(subject(capture=capture, policy={"packages": policy}), world(audit=audit))


def test_what_nobody_could_look_up_is_counted_and_never_called_clean() -> None:
    assert judged() == Check(
        "packages",
        Outcome.PASS,
        "2 audited, 3 not audited: cuda-toolkit, vllm, work "
        "(a conda package, from version control, no version)",
    )


def test_a_build_label_is_left_out_of_the_question() -> None:
    asked: list[Pin] = []

    def audit(pins: Sequence[Pin], kind: str, url: str) -> tuple[Audited, ...]:
        asked.extend(pins)
        return tuple(Audited(name, version) for name, version in pins)

    capture = Capture("2026-11-30T12:00:00Z", "tierlock", packages=LISTED)
    check_packages(subject(capture=capture), world(audit=audit))
    assert asked == [("jinja2", "2.4.1"), ("torch", "2.5.1")]


def test_a_package_that_the_service_does_not_know_is_not_audited() -> None:
    said = {
        "torch": Audited(
            "torch", "", skipped="Dependency not found on PyPI and could not be audited: torch (2)"
        )
    }
    check = judged(answer=said)
    assert check.outcome is Outcome.PASS
    assert check.detail.startswith("1 audited, 4 not audited: cuda-toolkit, torch, vllm, work")
    assert "dependency not found on pypi" in check.detail
    assert judged(answer=said, unaudited="block").outcome is Outcome.BLOCK


@pytest.mark.parametrize(
    ("policy", "outcome"),
    [
        ({}, Outcome.BLOCK),
        ({"vulnerable": "block"}, Outcome.BLOCK),
        ({"vulnerable": "warn"}, Outcome.PASS),
        ({"vulnerable": "warn", "unaudited": "block"}, Outcome.BLOCK),
        ({"ignore": {"CVE-1": "no template is loaded"}}, Outcome.PASS),
        ({"ignore": {"PYSEC-1": "no template is loaded"}}, Outcome.PASS),
        ({"ignore": {"CVE-1": "no template is loaded"}, "unaudited": "block"}, Outcome.BLOCK),
    ],
)
def test_policy_says_what_a_vulnerable_and_an_unaudited_package_does(
    policy: Mapping[str, Any], outcome: Outcome
) -> None:
    check = judged(answer={"jinja2": Audited("jinja2", "2.4.1", (HOLE,))}, **policy)
    assert check.outcome is outcome
    assert "jinja2 2.4.1 PYSEC-1" in check.detail


@pytest.mark.parametrize(
    "answer", [Unknown("no answer"), MissingTool("pip-audit is not installed", hint="pip")]
)
def test_an_audit_that_could_not_be_had_is_undecided_while_its_answer_could_block(answer: Any) -> None:
    assert judged(answer=answer).outcome is Outcome.UNDECIDED
    assert judged(answer=answer, vulnerable="warn", unaudited="block").outcome is Outcome.UNDECIDED
    told = judged(answer=answer, vulnerable="warn")
    assert told.outcome is Outcome.PASS
    assert told.detail.startswith("not audited (2 packages)")


def test_a_server_that_is_no_python_program_has_nothing_to_audit() -> None:
    program = Packages("program", (Package("llama-server", "", archive="a" * 64),))
    check = judged(program)
    assert check == Check(
        "packages", Outcome.PASS, "0 audited, 1 not audited: llama-server (no Python package)"
    )
    assert judged(program, unaudited="block").outcome is Outcome.BLOCK


def test_packages_that_nobody_recorded_are_not_audited() -> None:
    for listed in (None, Unknown("no interpreter")):
        check = judged(listed)
        assert check.outcome is Outcome.PASS
        assert check.detail.startswith("not audited: ")
        assert judged(listed, unaudited="block").outcome is Outcome.BLOCK


def test_the_lock_file_of_the_base_config_stands_in_for_a_capture() -> None:
    made = service("environment: {packages: requirements.lock}\n",
                   files={"configs/base/qwen/requirements.lock": "numpy==2.0.0\n"})  # fmt: skip
    check = check_packages(subject(made), world())
    assert check.detail == "0 audited, 1 not audited: numpy (not found on pypi)"
