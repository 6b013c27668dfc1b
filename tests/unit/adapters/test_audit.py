"""pip-audit as a process: what was found, what was skipped, and what could not be run stay apart."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from governance.adapters.audit import PART, Audited, Vulnerability, audit
from governance.adapters.processes import free_port
from governance.errors import MissingTool
from governance.values import Unknown
from tests.support.osv_server import OsvServer

KNOWN = {("jinja2", "2.4.1"): ("PYSEC-2019-1", "CVE-2019-1", "2.4.2")}


def program(folder: Path, text: str) -> tuple[str, ...]:
    """A program in the place of pip-audit that does what `text` says."""
    file = folder / "pip_audit.py"
    file.write_text(text)
    return (sys.executable, str(file))


def test_a_vulnerable_package_is_told_from_a_clean_one() -> None:
    with OsvServer(KNOWN) as osv:
        found = audit([("jinja2", "2.4.1"), ("packaging", "24.2")], service="osv", url=osv.url)
    assert found == (
        Audited("jinja2", "2.4.1", (Vulnerability("PYSEC-2019-1", ("CVE-2019-1",), ("2.4.2",)),)),
        Audited("packaging", "24.2"),
    )


def test_a_long_list_is_asked_in_parts_and_comes_back_whole_and_in_order() -> None:
    pins = [(f"package-{number:03}", "1.0") for number in range(PART + 5)]
    with OsvServer() as osv:
        found = audit(pins, service="osv", url=osv.url)
    assert not isinstance(found, Unknown)
    assert [(one.name, one.version) for one in found] == pins
    assert sorted(osv.asked) == pins


def test_a_service_that_does_not_answer_is_unknown_and_not_clean() -> None:
    """pip-audit exits 1 as if it had found something."""
    found = audit([("jinja2", "2.4.1")], service="osv", url=f"http://127.0.0.1:{free_port()}/v1/query")
    assert isinstance(found, Unknown)
    assert "Connection refused" in found.reason
    assert " object at 0x" not in found.reason


def test_an_outage_of_the_service_is_unknown() -> None:
    with OsvServer(KNOWN) as osv:
        osv.status = 503
        found = audit([("jinja2", "2.4.1")], service="osv", url=osv.url)
    assert isinstance(found, Unknown)
    assert "pip-audit could not run" in found.reason


def test_a_skipped_package_comes_back_with_its_reason(tmp_path: Path) -> None:
    """What pip-audit 2.10 writes for a package that PyPI does not know, with exit 0 and "no known
    vulnerabilities found".
    """
    said = '{"dependencies": [{"name": "corp", "skip_reason": "not found on PyPI"}], "fixes": []}'
    found = audit([("corp", "1.0")], program=program(tmp_path, f"print({said!r})"))
    assert found == (Audited("corp", "", skipped="not found on PyPI"),)


def test_a_package_that_is_missing_in_the_answer_is_unknown(tmp_path: Path) -> None:
    found = audit([("corp", "1.0")], program=program(tmp_path, "print('{\"dependencies\": []}')"))
    assert isinstance(found, Unknown)
    assert found.reason == "pip-audit says nothing of corp"


@pytest.mark.parametrize("text", ["print('{}')", "print('no JSON')", "raise SystemExit('broken')", "", "1/0"])
def test_an_answer_that_is_none_is_unknown(tmp_path: Path, text: str) -> None:
    found = audit([("corp", "1.0")], program=program(tmp_path, text))
    assert isinstance(found, Unknown)
    assert found.reason.startswith("pip-audit could not run: ")


def test_a_run_that_does_not_end_is_ended(tmp_path: Path) -> None:
    slow = program(tmp_path, "import time; time.sleep(600)")
    found = audit([("corp", "1.0")], program=slow, seconds=0.2)
    assert isinstance(found, Unknown)
    assert found.reason == "pip-audit had no answer within 0.2 s (packages asked: 1)"


def test_a_pip_audit_that_is_not_installed_is_named_with_what_installs_it(tmp_path: Path) -> None:
    missing = program(tmp_path, "raise SystemExit('/usr/bin/python3: No module named pip_audit')")
    for one in (missing, (str(tmp_path / "nothing"),)):
        with pytest.raises(MissingTool) as err:
            audit([("corp", "1.0")], program=one)
        assert err.value.hint == "pip install pip-audit"


def test_another_address_of_pypi_is_refused_and_not_passed_over() -> None:
    found = audit([("corp", "1.0")], url="https://pypi.example/pypi")
    assert isinstance(found, Unknown)
    assert "say `service: osv`" in found.reason


def test_no_package_is_no_question() -> None:
    assert audit([]) == ()
