"""Each renderer escapes for its medium: no text in a config can forge a line, a cell, an element."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from governance.errors import NewerFormat
from governance.report import github, junit, markdown, sarif, text
from governance.report import json as report_json
from governance.report.registry import RENDERERS, renderer
from governance.verdict import Check, Finding, Outcome, Report
from tests.support.reports import CHANGED, GOOD, HOSTILE, MISTAKES, NAMED, NOTHING, RESOLVED, UNJUDGED

SARIF_SCHEMA = json.loads((Path(__file__).parents[2] / "support/schemas/sarif-2.1.0.json").read_text())
ANY_TEXT = st.text(st.characters(codec=None), max_size=60)


def with_text(words: str) -> Report:
    """A report that carries `words` wherever user text can stand."""
    finding = Finding(
        "TL103", words, path=words, line=1, column=2, key=words, hint=words, excerpt=words, width=3
    )
    return Report(
        "check",
        title=words,
        checks=(Check(words, Outcome.BLOCK, words),),
        findings=(finding,),
        notes=(words,),
        summary=words,
    )


@pytest.mark.parametrize("form", RENDERERS)
@pytest.mark.parametrize("name", NAMED)
def test_the_same_report_gives_the_same_bytes_and_ends_in_one_newline(form: str, name: str) -> None:
    shown = renderer(form)(NAMED[name])
    assert shown == renderer(form)(NAMED[name])
    assert shown.endswith("\n")
    assert not shown.endswith("\n\n")
    shown.encode("utf-8")


@pytest.mark.parametrize("form", [form for form in RENDERERS if form != "json"])
@pytest.mark.parametrize("name", NAMED)
def test_no_control_character_reaches_a_terminal_or_a_page(form: str, name: str) -> None:
    assert not re.search(
        r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", renderer(form)(NAMED[name])
    )


@pytest.mark.parametrize("form", RENDERERS)
@given(words=ANY_TEXT)
def test_any_text_can_be_shown_in_every_format(form: str, words: str) -> None:
    renderer(form)(with_text(words)).encode("utf-8")


class TestText:
    @pytest.mark.parametrize("name", NAMED)
    def test_colour_only_adds(self, name: str) -> None:
        coloured = text.render(NAMED[name], text.Style(colour=True))
        assert "\x1b[" in coloured
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text.render(NAMED[name])

    @pytest.mark.parametrize("width", [60, 80, 100])
    @pytest.mark.parametrize("report", [MISTAKES, CHANGED, UNJUDGED, GOOD])
    def test_lines_fit_the_width(self, report: Report, width: int) -> None:
        lines = text.render(report, text.Style(width=width)).splitlines()
        assert [line for line in lines if len(line) > width] == []

    def test_the_verdict_is_the_last_line(self) -> None:
        assert text.render(MISTAKES).splitlines()[-1].startswith("BLOCK  3 findings")
        assert text.render(GOOD).splitlines()[-1] == "PASS  14 configs, 3 services, 52 rules"
        assert text.render(UNJUDGED).splitlines()[-1].startswith("UNDECIDED  the clone is shallow")
        assert text.render(NOTHING) == "UNDECIDED  nothing was checked\n"

    def test_the_caret_stands_under_the_marked_part(self) -> None:
        lines = text.render(MISTAKES).splitlines()
        at = lines.index("    revision: 0192117")
        assert lines[at + 1] == '              ^^^^^^^ quote it: "0192117"'

    def test_the_caret_counts_the_columns_of_wide_characters(self) -> None:
        finding = Finding("TL1", "m", path="p", line=1, column=5, excerpt='"日本" x', width=1)
        lines = text.render(Report("check", findings=(finding,))).splitlines()
        assert lines[1:3] == ['    "日本" x', "          ^"]

    def test_a_long_line_is_cut_around_the_marked_part(self) -> None:
        line = "x" * 500 + "HERE" + "y" * 500
        finding = Finding("TL1", "m", path="p", line=1, column=501, excerpt=line, width=4)
        shown, caret = text.render(Report("check", findings=(finding,))).splitlines()[1:3]
        assert len(shown) <= 100
        assert shown[caret.index("^") : caret.rindex("^") + 1] == "HERE"

    def test_an_exempted_finding_is_shown_when_asked_for(self) -> None:
        assert "TL301" not in text.render(MISTAKES)
        assert "exempted: poems are meant to vary" in text.render(MISTAKES, text.Style(exempted=True))

    def test_a_flood_of_one_kind_in_one_file_is_counted_and_not_poured_out(self) -> None:
        flood = [Finding("TL103", f"unknown key `k{n}`", path="a.yaml", line=n) for n in range(1, 1001)]
        other = Finding("TL104", "another", path="a.yaml", line=1001)
        shown = text.render(Report("check", findings=(*flood, other))).splitlines()
        assert len(shown) < 30
        assert "a.yaml  TL103  980 more like these (all of them with --format json)" in shown
        assert any("TL104" in line for line in shown)

    def test_the_full_digest_is_shown_when_asked_for(self) -> None:
        assert "5b0c2e7f91aa5b0c2e7f91aa" not in text.render(CHANGED)
        assert "5b0c2e7f91aa5b0c2e7f91aa" in text.render(CHANGED, text.Style(full=True))

    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            (1, "1"),
            (1.0, "1.0"),
            (True, "true"),
            ("1", '"1"'),
            ("true", '"true"'),
            (None, "null"),
            ("", '""'),
            ("a ", '"a "'),
        ],
    )
    def test_values_that_differ_never_look_alike(self, value: object, shown: str) -> None:
        from governance.report.escape import show

        assert show(value) == shown  # type: ignore[arg-type]

    def test_long_values_that_differ_at_the_end_are_not_cut_to_the_same_text(self) -> None:
        from dataclasses import replace

        change = replace(CHANGED.changes[0], before="x" * 90 + "a", after="x" * 90 + "b")
        shown = text.render(replace(CHANGED, changes=(change,)))
        assert "x" * 90 + "a" in shown.replace("\n    ", "")
        assert "x" * 90 + "b" in shown.replace("\n    ", "")


class TestJson:
    @pytest.mark.parametrize("name", NAMED)
    def test_what_is_written_is_read_back(self, name: str) -> None:
        shown = report_json.render(NAMED[name])
        assert report_json.render(report_json.parse(shown)) == shown

    def test_the_keys_of_the_contract_come_in_their_order(self) -> None:
        keys = list(json.loads(report_json.render(CHANGED)))
        contract = ["schema", "outcome", "exit_code", "checks", "findings", "changes", "scores", "run"]
        assert [key for key in keys if key in contract] == contract

    def test_unknown_says_why_and_absent_is_left_out(self) -> None:
        values = {value["key"]: value for value in json.loads(report_json.render(RESOLVED))["values"]}
        assert values["engine.options.attention"]["value"] == {"unknown": "depends on the GPU"}
        assert "value" not in values["sampling.seed"]

    def test_a_report_of_another_schema_is_refused(self) -> None:
        with pytest.raises(NewerFormat, match=r"tierlock\.report/2"):
            report_json.parse('{"schema": "tierlock.report/2"}')


class TestGitHub:
    @pytest.mark.parametrize("name", NAMED)
    def test_every_line_is_one_command(self, name: str) -> None:
        report = NAMED[name]
        lines = github.render(report).splitlines()
        assert len(lines) == len(report.findings) + len(report.changes) + 1
        assert all(re.fullmatch(r"::(error|warning|notice) [^:]*::.*", line) for line in lines)

    @given(words=ANY_TEXT)
    def test_no_text_starts_a_second_command(self, words: str) -> None:
        lines = re.split("\r\n|\r|\n", github.render(with_text(words)).removesuffix("\n"))
        assert [line[:8] for line in lines] == ["::error ", "::error "]

    def test_percent_is_escaped_first(self) -> None:
        shown = github.render(with_text("100%0A, a:b"))
        assert "100%250A, a:b" in shown
        assert "file=100%250A%2C a%3Ab" in shown

    @pytest.mark.parametrize("report", [UNJUDGED, NOTHING])
    def test_a_log_without_findings_does_not_look_clean(self, report: Report) -> None:
        assert github.render(report).startswith("::error ")


class TestMarkdown:
    def test_a_table_keeps_its_cells(self) -> None:
        rows = [line for line in markdown.render(HOSTILE).splitlines() if line.startswith("| TL")]
        assert len(rows) == 3
        assert all(row.count(" | ") == 2 for row in rows)

    @given(words=ANY_TEXT)
    def test_no_markup_of_the_user_survives(self, words: str) -> None:
        shown = markdown.render(with_text(words + "<img src=x>`@all`"))
        assert "<img" not in shown
        assert "@all" not in shown

    def test_a_word_diff_cannot_leave_its_block(self) -> None:
        from dataclasses import replace

        change = replace(CHANGED.changes[-1], text=("+ ```` free",))
        assert "`````diff\n+ ```` free\n`````" in markdown.render(replace(CHANGED, changes=(change,)))


class TestSarif:
    @pytest.mark.parametrize("name", NAMED)
    def test_it_follows_the_published_schema(self, name: str) -> None:
        errors = Draft7Validator(SARIF_SCHEMA).iter_errors(json.loads(sarif.render(NAMED[name])))
        assert [error.message for error in errors] == []

    @pytest.mark.parametrize("name", NAMED)
    def test_every_result_has_a_place_a_rule_and_an_identity_of_its_own(self, name: str) -> None:
        run = json.loads(sarif.render(NAMED[name]))["runs"][0]
        rules = run["tool"]["driver"]["rules"]
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            place = result["locations"][0]["physicalLocation"]
            assert place["region"]["startLine"] >= 1
            assert not place["artifactLocation"]["uri"].startswith("/")
        identities = [result["partialFingerprints"]["tierlock/v1"] for result in run["results"]]
        assert len(set(identities)) == len(identities)

    def test_a_finding_keeps_its_identity_when_lines_move(self) -> None:
        one, other = (
            Report("check", findings=(Finding("TL1", "m", path="p", line=line),)) for line in (3, 9)
        )
        assert identity(one) == identity(other)

    def test_an_exemption_is_a_suppression_with_its_reason(self) -> None:
        results = json.loads(sarif.render(MISTAKES))["runs"][0]["results"]
        assert [bool(result.get("suppressions")) for result in results] == [False, False, False, True]
        assert results[3]["suppressions"][0]["justification"].startswith("poems")

    @pytest.mark.parametrize("report", [UNJUDGED, NOTHING])
    def test_undecided_is_an_unsuccessful_run(self, report: Report) -> None:
        invocation = json.loads(sarif.render(report))["runs"][0]["invocations"][0]
        assert invocation["executionSuccessful"] is False
        assert invocation["toolExecutionNotifications"]


def identity(report: Report) -> str:
    result = json.loads(sarif.render(report))["runs"][0]["results"][0]
    return str(result["partialFingerprints"]["tierlock/v1"])


class TestJunit:
    @pytest.mark.parametrize("name", NAMED)
    def test_it_is_xml_and_counts_right(self, name: str) -> None:
        suite = ElementTree.fromstring(junit.render(NAMED[name]))[0]
        cases = suite.findall("testcase")
        assert int(suite.attrib["tests"]) == len(cases)
        for kind, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[kind]) == sum(case.find(tag) is not None for case in cases)

    @given(words=ANY_TEXT)
    def test_any_text_gives_xml(self, words: str) -> None:
        ElementTree.fromstring(junit.render(with_text(words)))

    @pytest.mark.parametrize("report", [MISTAKES, UNJUDGED, NOTHING])
    def test_what_does_not_pass_is_never_all_green(self, report: Report) -> None:
        suites = ElementTree.fromstring(junit.render(report))
        assert int(suites.attrib["failures"]) + int(suites.attrib["errors"]) > 0
