"""Group C of the field cases: what YAML, JSON and text do to a config unseen, and what we say about it.

Inputs are the bytes of the public cases. Where a fingerprint is asked for, their tree is rewritten by the one
fixed mapping; where reading is asked for, the file is governed as it is, with our `kind` line at its end.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import pytest

from governance.adapters.files import FileSource, MemoryTree, WorkTree, write_all
from governance.adapters.git import Git, IndexTree, RevisionTree
from governance.engines.sources.importing import import_sources
from governance.errors import Unreadable
from governance.fingerprint.layers import config_digest
from governance.release.diff import compare
from governance.release.sides import FileSide
from governance.report.text import render as as_text
from governance.tiers.canonical import canonical
from governance.tiers.check import check
from governance.tiers.config import ConfigId, load_config, load_repository
from governance.tiers.reader import Reading, read_foreign_yaml, read_json, read_yaml
from governance.tiers.textdiff import text_changes
from governance.tiers.writer import dump
from governance.values import Effect
from governance.verdict import Finding, Outcome, Report, Severity
from tests.field import mapping
from tests.support.command import PROGRAM, environment
from tests.support.repos import isolated
from tests.support.rules import TODAY, facts

CASES = Path(__file__).parent / "cases"
SERVICES = b"version: 1\nservices: {}\n"


def data(path: str) -> bytes:
    return (CASES / path).read_bytes()


def read(path: str) -> Reading:
    return (read_json if path.endswith(".json") else read_yaml)(data(path), path)


def governed(tier: str, content: bytes, files: Mapping[str, bytes] | None = None) -> MemoryTree:
    """A repository of one config called `tern`; `files` lie in its folder."""
    beside = {f"configs/{tier}/tern/{name}": each for name, each in (files or {}).items()}
    return MemoryTree({f"configs/{tier}/tern.yaml": content, "tierlock.yaml": SERVICES, **beside})


def judged(tier: str, path: str) -> Report:
    """The check of the case's file as it is, with our `kind` line at its end."""
    return check(governed(tier, data(path) + f"kind: {tier}\n".encode()), today=TODAY, engine_facts=facts())


def digest(tier: str, tree: Mapping[str, Any], files: Mapping[str, bytes] | None = None) -> str:
    found, findings = load_config(governed(tier, dump(tree).encode(), files), ConfigId(tier, "tern"))
    assert found is not None, findings
    return config_digest(found)


def sampling(path: str) -> str:
    """The fingerprint of a neutral sampling file."""
    return digest("sampling", mapping.sampling(mapping.neutral(data(path))))


def prompts(path: str) -> str:
    """The fingerprint of a neutral prompts file."""
    return digest("prompts", mapping.prompts(mapping.neutral(data(path))))


def difference(tier: str, before: bytes, after: bytes) -> Report:
    """`tierlock diff` of two files of one tier."""
    name = f"configs/{tier}/tern.yaml"
    sides = [FileSide(name, name, each, lambda _: b"") for each in (before, after)]
    return compare(sides[0], sides[1], fail_on_difference=True)


def mapped(tier: str, path: str) -> bytes:
    return dump(getattr(mapping, tier)(mapping.neutral(data(path)))).encode()


def told(report: Report, code: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.code == code]


def refusals(tier: str, path: str) -> list[tuple[str, int, str]]:
    """Code, line and key of everything that blocks; a block is never a crash and never without a place."""
    report = judged(tier, path)
    assert report.outcome is Outcome.BLOCK
    blocking = [finding for finding in report.findings if finding.blocks]
    assert all(finding.path and finding.line and finding.hint for finding in blocking)
    return [(finding.code, finding.line, finding.key) for finding in blocking]


class TestC01:
    """1e-1, 5e-2, 1E1: number or text?"""

    def test_what_yaml_versions_read_differently_is_refused_with_the_number_to_write(self) -> None:
        assert refusals("sampling", "C01/sci.yaml") == [
            ("TL004", 1, "temperature"),
            ("TL004", 2, "min_p"),
        ]
        assert told(judged("sampling", "C01/sci.yaml"), "TL004")[0].hint.startswith("write 0.1,")
        assert judged("sampling", "C01/plain.yaml").outcome is Outcome.PASS

    def test_what_every_reader_takes_for_a_number_is_a_number(self) -> None:
        assert refusals("sampling", "C01/sci2.yaml") == [("TL004", 3, "top_p")]
        tree = mapping.neutral(data("C01/sci2.yaml").replace(b"90e-2", b"0.9"))
        assert (tree["temperature"], tree["min_p"], tree["top_p"]) == (0.1, 0.05, 0.9)

    def test_a_whole_number_in_exponent_form_is_told_as_what_it_is(self) -> None:
        """Documented: a whole-number field takes whole numbers; `5.12e+2` is a float to every reader."""
        text = data("C01/sci2.yaml").replace(b"90e-2", b"0.9") + b"kind: sampling\n"
        (found,) = [f for f in check(governed("sampling", text), today=TODAY).findings if f.blocks]
        assert (found.code, found.line, found.key) == ("TL102", 4, "max_tokens")
        assert "whole number" in found.message
        assert "512" in found.hint

    def test_a_quoted_number_is_refused(self) -> None:
        assert refusals("sampling", "C01/text.yaml") == [("TL102", 1, "temperature")]
        assert told(judged("sampling", "C01/text.yaml"), "TL102")[0].hint == "write it without quotes: 0.1"

    def test_a_tiny_number_survives_loading_and_saving(self) -> None:
        first = read("C01/tiny.json").tree
        assert isinstance(first, dict)
        assert first["min_p"] == 0.00001
        as_yaml = read_yaml(dump(first).encode(), "f.yaml").tree
        as_json = read_json(canonical(as_yaml), "f.json").tree
        assert canonical(first) == canonical(as_yaml) == canonical(as_json)
        assert digest("sampling", mapping.sampling(first)) == digest("sampling", mapping.sampling(as_json))  # type: ignore[arg-type]


class TestC03:
    """no, off, y in lists and keys."""

    def test_unquoted_no_and_off_are_refused_with_the_quoting(self) -> None:
        assert refusals("sampling", "C03/a.yaml") == [
            ("TL004", 1, "stop[0]"),
            ("TL004", 1, "stop[1]"),
            ("TL004", 4, "languages[1]"),
        ]
        assert all('"' in found.hint for found in told(judged("sampling", "C03/a.yaml"), "TL004"))

    def test_quoted_they_are_text(self) -> None:
        tree = {"stop": ["no", "Off", "END"], "languages": ["en", "no"]}
        assert read("C03/b.yaml").tree == tree

    def test_booleans_among_stop_strings_are_refused(self) -> None:
        assert ("TL102", 1, "stop[0]") in refusals("sampling", "C03/c.yaml")
        assert told(judged("sampling", "C03/c.yaml"), "TL102")[0].message.endswith("must be text")

    def test_keys_that_some_readers_take_for_booleans_are_refused(self) -> None:
        assert refusals("prompts", "C03/keys.yaml") == [
            ("TL004", 2, "few_shot.on"),
            ("TL004", 4, "few_shot.no"),
        ]

    def test_yes_is_refused_and_true_is_proposed(self) -> None:
        assert refusals("base", "C03/bool.yaml") == [("TL004", 1, "enable_prefix_caching")]
        assert told(judged("base", "C03/bool.yaml"), "TL004")[0].hint.startswith("write true")


class TestC04:
    """Several YAML documents in one file."""

    @pytest.mark.parametrize(
        ("path", "line"), [("C04/two.yaml", 3), ("C04/end.yaml", 4), ("C04/tail.yaml", 3)]
    )
    def test_a_second_document_is_refused_by_its_line_even_when_empty(self, path: str, line: int) -> None:
        assert refusals("sampling", path) == [("TL006", line, "")]
        assert f"line {line}" in told(judged("sampling", path), "TL006")[0].message

    def test_a_leading_mark_means_nothing(self) -> None:
        without = data("C04/lead.yaml").removeprefix(b"---\n")
        assert sampling("C04/lead.yaml") == digest("sampling", mapping.sampling(mapping.neutral(without)))

    def test_every_document_of_a_manifest_is_read_for_import(self) -> None:
        kinds = [each.tree["kind"] for each in read_foreign_yaml(data("C04/k8s.yaml"), "k8s.yaml")]  # type: ignore[index,call-overload]
        assert kinds == ["Service", "Deployment"]
        result = import_sources({"k8s.yaml": data("C04/k8s.yaml")})
        assert result.report.outcome is Outcome.PASS
        (path,) = [path for path in result.files if path.startswith("configs/base/")]
        tree: Any = read_yaml(result.files[path], path).tree
        assert tree["model"]["id"] == "acme/tern-7b-chat"
        assert tree["precision"]["dtype"] == "float16"

    def test_dashes_in_a_prompt_are_part_of_the_prompt(self) -> None:
        tree = mapping.neutral(data("C04/text.yaml"))
        assert tree == {"system": "line one\n---\nline two", "max_tokens": 512}


class TestC05:
    """Duplicate keys, and an empty repeat that wipes a block."""

    twice: ClassVar[dict[str, tuple[str, int, int]]] = {
        "C05/dup.yaml": ("temperature", 4, 1),
        "C05/wipe.yaml": ("sampling", 6, 1),
        "C05/dup.json": ("temperature", 1, 1),
        "C05/nested.yaml": ("model.id", 3, 2),
        "C05/merged-style.yaml": ("temperature", 2, 1),
    }

    @pytest.mark.parametrize("path", twice)
    def test_the_key_is_refused_with_both_lines(self, path: str) -> None:
        key, line, first = self.twice[path]
        reading = read(path)
        (found,) = reading.findings
        assert reading.tree is None
        assert (found.code, found.key, found.line) == ("TL007", key, line)
        assert f"`{key}` is here and on line {first}" in found.message


# Counted from a small process: what a child used begins at the size of whoever started it.
MEASURED = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stderr=subprocess.STDOUT).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"\\n{used.ru_utime + used.ru_stime} {used.ru_maxrss}", flush=True)
sys.exit(code)
"""


class TestC07:
    """An alias bomb of under 400 bytes, a value that contains itself, and 5,000 levels."""

    reference: ClassVar[dict[str, bytes]] = {
        "configs/prompts/tern.yaml": b"kind: prompts\nsystem: x\ntools: {file: deep.json}\n",
        "configs/prompts/tern/deep.json": data("C07/deep.json"),
    }

    @pytest.mark.parametrize(
        ("path", "codes"),
        [("C07/bomb.yaml", {"TL008"}), ("C07/self.yaml", {"TL008"}), ("C07/deep.json", {"TL015"})],
    )
    def test_each_is_refused_by_the_reader(self, path: str, codes: set[str]) -> None:
        reading = read(path)
        assert reading.tree is None
        assert {found.code for found in reading.findings} == codes

    @pytest.mark.parametrize(
        ("path", "code", "said"),
        [("C07/bomb.yaml", "TL016", "aliases"), ("C07/self.yaml", "TL023", "inside its own value")],
    )
    def test_import_which_follows_aliases_has_the_same_bounds(self, path: str, code: str, said: str) -> None:
        result = import_sources({path: data(path)})
        found = next(each for each in result.report.findings if each.blocks)
        assert found.code == code
        assert said in found.message
        assert result.report.outcome is Outcome.BLOCK

    @pytest.mark.parametrize(
        "command",
        [
            ["check"],
            ["check", "--staged"],
            ["check", "configs/sampling/bomb.yaml"],
            ["check", "configs/prompts/tern.yaml"],
            ["diff", "configs/sampling/bomb.yaml", "configs/sampling/self.yaml"],
            ["diff", "HEAD", "worktree"],
            ["import", "configs/sampling/bomb.yaml"],
            ["import", "configs/prompts/tern/deep.json"],
            ["fingerprint"],
        ],
        ids=" ".join,
    )
    def test_every_entry_point_refuses_within_time_and_space(
        self, command: list[str], tmp_path: Path
    ) -> None:
        files = {
            "tierlock.yaml": SERVICES,
            "configs/sampling/bomb.yaml": data("C07/bomb.yaml"),
            "configs/sampling/self.yaml": data("C07/self.yaml"),
            **self.reference,
        }
        write_all(tmp_path, files)
        for args in (["init", "-q"], ["commit", "-qm", "first", "--allow-empty"], ["add", "-A"]):
            subprocess.run(["git", *args], cwd=tmp_path, env=isolated(), check=True)
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", MEASURED, *PROGRAM, *command],
            cwd=tmp_path,
            env=environment({"XDG_CACHE_HOME": str(tmp_path / "cache")}),
            capture_output=True,
            text=True,
            check=False,
        )
        *said, last = done.stdout.splitlines()
        seconds, kibibytes = map(float, last.split())
        assert done.returncode in {1, 2, 3}, said
        assert "Traceback" not in "\n".join(said)
        assert seconds < 2
        assert kibibytes < 300 * 1024


class TestC08:
    """A byte order mark at the start of a file."""

    def test_in_a_structured_file_it_is_read_past_with_a_note(self) -> None:
        assert sampling("C08/bom.yaml") == sampling("C08/nobom.yaml")
        assert read("C08/bom.json").tree == read("C08/nobom.json").tree
        for path in ("C08/bom.yaml", "C08/bom.json"):
            (note,) = read(path).findings
            assert (note.code, note.severity) == ("TL002", Severity.NOTE)
        assert judged("sampling", "C08/bom.yaml").outcome is Outcome.PASS

    def test_the_raw_files_have_one_fingerprint(self) -> None:
        bom, without = (data(path) + b"kind: sampling\n" for path in ("C08/bom.yaml", "C08/nobom.yaml"))
        report = difference("sampling", without, bom)
        assert report.outcome is Outcome.PASS
        assert report.changes == ()

    def test_in_a_prompt_it_is_another_prompt_and_named_with_its_offset(self) -> None:
        tree: dict[str, Any] = {"kind": "prompts", "system": {"file": "system.txt"}}
        files = [{"system.txt": data(f"C08/prompt_{each}.txt")} for each in ("bom", "nobom")]
        assert digest("prompts", tree, files[0]) != digest("prompts", tree, files[1])
        report = check(governed("prompts", dump(tree).encode(), files[0]), today=TODAY)
        (found,) = [each for each in report.findings if each.blocks]
        assert found.path == "configs/prompts/tern/system.txt"
        assert (found.line, found.column) == (1, 1)
        assert "U+FEFF" in found.message
        assert "offset 0" in found.message

    def test_two_of_them_and_another_encoding_are_refused(self) -> None:
        assert refusals("sampling", "C08/double.yaml") == [("TL002", 1, "")]
        (utf16,) = read("C08/utf16.yaml").findings
        assert (utf16.code, read("C08/utf16.yaml").tree) == ("TL001", None)
        assert "UTF-16" in utf16.message

    def test_no_message_asks_whether_a_key_was_meant_to_be_itself(self) -> None:
        for name in ("bom", "nobom", "double", "utf16"):
            for found in judged("sampling", f"C08/{name}.yaml").findings:
                assert "did you mean" not in found.message + found.hint


class TestC10:
    """Block scalar styles and quotes."""

    apart = ("clip", "strip", "keep", "fold", "indent2", "trail")

    def test_six_spellings_are_six_prompts(self) -> None:
        digests = {name: prompts(f"C10/{name}.yaml") for name in self.apart}
        for left, right in combinations(self.apart, 2):
            assert digests[left] != digests[right], (left, right)

    def test_syntax_does_not_count(self) -> None:
        assert prompts("C10/strip.yaml") == prompts("C10/quoted.yaml")
        report = difference(
            "prompts", mapped("prompts", "C10/strip.yaml"), mapped("prompts", "C10/quoted.yaml")
        )
        assert report.outcome is Outcome.PASS

    def system(self, name: str) -> str:
        text = mapping.neutral(data(f"C10/{name}.yaml"))["system"]
        assert isinstance(text, str)
        return text

    def test_the_diff_shows_the_final_newline_and_trailing_blanks(self) -> None:
        assert "newline removed at end of text" in "\n".join(
            text_changes(self.system("clip"), self.system("strip"))
        )
        assert "␠␠" in "\n".join(text_changes(self.system("strip"), self.system("trail")))

    def test_a_change_of_the_header_alone_is_a_change_of_the_prompt(self) -> None:
        """`|` to `|-` in the file as it is: one line of YAML, one byte of prompt."""
        before = b"kind: prompts\nsystem: |\n  Answer in one line.\n  Be polite.\n"
        report = difference("prompts", before, before.replace(b"|", b"|-"))
        assert report.outcome is Outcome.BLOCK
        (change,) = report.changes
        assert (change.key, change.risk) == ("system", Effect.OUTPUT)
        assert "newline" in as_text(report)


class TestC11:
    """Invisible and look-alike characters in a prompt."""

    odd: ClassVar[dict[str, tuple[str, str, int, Severity]]] = {
        "nbsp": ("TL403", "U+00A0", 30, Severity.WARNING),
        "zwsp": ("TL402", "U+200B", 36, Severity.WARNING),
        "bidi": ("TL401", "U+202E", 54, Severity.ERROR),
        "homoglyph": ("TL404", "U+043E", 25, Severity.WARNING),
        "ideographic": ("TL403", "U+3000", 53, Severity.WARNING),
        "tab": ("TL405", "U+0009", 24, Severity.WARNING),
    }

    @pytest.mark.parametrize("name", odd)
    def test_a_variant_is_found_with_code_point_line_and_column(self, name: str) -> None:
        code, point, column, severity = self.odd[name]
        found = told(judged("prompts", f"C11/{name}.yaml"), code)[0]
        assert (found.line, found.column, found.severity) == (1, column, severity)
        assert point in found.message

    @pytest.mark.parametrize("name", ["clean", "zh_ok", "emoji_ok"])
    def test_what_is_legitimate_is_no_finding(self, name: str) -> None:
        assert not [f for f in judged("prompts", f"C11/{name}.yaml").findings if f.code.startswith("TL40")]

    @pytest.mark.parametrize("name", odd)
    def test_it_is_another_prompt_and_the_diff_shows_why(self, name: str) -> None:
        assert prompts("C11/clean.yaml") != prompts(f"C11/{name}.yaml")
        report = difference(
            "prompts", mapped("prompts", "C11/clean.yaml"), mapped("prompts", f"C11/{name}.yaml")
        )
        shown = "\n".join(report.changes[0].text)
        point = self.odd[name][1]
        escape = {"U+0009": "\\t", "U+00A0": "\\xa0"}.get(point, f"\\u{point[2:].lower()}")
        assert escape in shown
        assert escape in as_text(report)

    def test_an_odd_character_in_a_key_is_an_error_that_names_it(self) -> None:
        (found,) = read("C11/nbsp_key.yaml").findings
        assert (found.code, found.severity, found.line) == ("TL403", Severity.ERROR, 1)
        assert "no-break space (U+00A0)" in found.message
        assert "\\xa0" in found.message


class TestC13:
    """NaN, Infinity, -0.0, 1 and 1.0."""

    def test_one_number_has_one_fingerprint(self) -> None:
        assert sampling("C13/int.yaml") == sampling("C13/float.yaml")
        assert sampling("C13/zero.yaml") == sampling("C13/negzero.yaml")

    @pytest.mark.parametrize("path", ["C13/nan.yaml", "C13/nan.json", "C13/inf.json", "C13/huge.json"])
    def test_what_is_no_finite_number_is_refused(self, path: str) -> None:
        reading = read(path)
        assert reading.tree is None
        (found,) = reading.findings
        assert found.code == "TL012"
        assert found.key in {"temperature", "top_p"}

    @pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
    def test_the_canonical_form_has_no_nan_and_no_null_in_its_place(self, number: float) -> None:
        with pytest.raises(ValueError, match="`temperature`"):
            canonical({"temperature": number})

    def test_a_fraction_is_no_count_and_true_is_no_number(self) -> None:
        assert refusals("sampling", "C13/frac.yaml") == [("TL102", 3, "max_tokens")]
        assert refusals("sampling", "C13/bool.yaml") == [("TL102", 1, "temperature")]

    def test_the_last_digit_counts_and_is_shown(self) -> None:
        assert sampling("C13/prec.yaml") != sampling("C13/prec2.yaml")
        report = difference(
            "sampling", mapped("sampling", "C13/prec2.yaml"), mapped("sampling", "C13/prec.yaml")
        )
        assert "0.30000000000000004" in as_text(report)


class TestC15:
    """Environment variables inside config files: refused, whatever the environment says."""

    def test_a_reference_is_refused_with_line_and_key(self) -> None:
        assert refusals("base", "C15/base.yaml")[:2] == [("TL010", 2, "model.id"), ("TL010", 5, "dtype")]
        assert refusals("sampling", "C15/sampling.yaml") == [
            ("TL010", 1, "temperature"),
            ("TL010", 2, "max_tokens"),
        ]

    @pytest.mark.parametrize("host", ["host1", "host2", "host3"])
    def test_no_host_can_fill_it_in(self, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """On host3 nothing is set: a shell would yield an empty model id. No value comes from outside."""
        for line in data(f"C15/{host}.env").decode().splitlines():
            name, _, value = line.partition("=")
            monkeypatch.setenv(name, value)
        tree = governed("sampling", data("C15/sampling.yaml") + b"kind: sampling\n")
        assert load_repository(tree).configs == {}
        assert read("C15/sampling.yaml").tree is None
        assert read("C15/base.yaml").tree is None

    def test_text_that_only_looks_like_it_is_left_alone(self) -> None:
        text = data("C15/sampling.yaml").splitlines(keepends=True)[-1]
        assert read_yaml(text, "s.yaml").tree == {"stop": ["$END", "US$5", "{{ user }}"]}
        tree = mapping.sampling(mapping.neutral(text))
        assert check(governed("sampling", dump(tree).encode()), today=TODAY).outcome is Outcome.PASS


class TestC17:
    """Symbolic links in the tier folder."""

    links = ("configs/prompts/system.yaml", "configs/prompts/dangling.yaml", "configs/prompts/loop")

    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        """The state the case builds, in our folders: `tiers/` is `configs/`, its files are configs."""
        subprocess.run(
            ["bash", CASES / "C17/make.sh", tmp_path / "w"], env=isolated(), check=True, capture_output=True
        )
        top = tmp_path / "w/repo"
        (top / "tiers").rename(top / "configs")
        moved = {
            f"configs/{tier}/tern.yaml": dump(
                getattr(mapping, tier)(mapping.neutral((top / f"configs/{tier}.yaml").read_bytes()))
            ).encode()
            for tier in ("base", "sampling")
        }
        write_all(top, {"tierlock.yaml": SERVICES, **moved})
        for tier in ("base", "sampling"):
            (top / f"configs/{tier}.yaml").unlink()
        for args in (["add", "-A"], ["commit", "-qm", "as configs"]):
            subprocess.run(["git", *args], cwd=top, env=isolated(), check=True)
        return top

    def sources(self, top: Path) -> dict[str, FileSource]:
        git = Git(top)
        return {"work tree": WorkTree(top), "index": IndexTree(git), "revision": RevisionTree(git, "HEAD")}

    def test_every_link_is_refused_by_its_path_wherever_it_is_read(self, repository: Path) -> None:
        for name, source in self.sources(repository).items():
            start = time.process_time()
            report = check(source, today=TODAY, engine_facts=facts())
            assert report.outcome is Outcome.BLOCK, name
            assert {found.path for found in told(report, "TL051")} == set(self.links), name
            assert all(found.blocks for found in told(report, "TL051")), name
            assert time.process_time() - start < 5, name

    def test_a_link_never_has_a_fingerprint_that_could_stay_the_same(self, repository: Path) -> None:
        target = repository.parent / "shared/system.yaml"
        for text in (b"kind: prompts\nsystem: Be brief.\n", b"kind: prompts\nsystem: Be very long.\n"):
            target.write_bytes(text)
            for name, source in self.sources(repository).items():
                found = load_repository(source)
                assert ConfigId("prompts", "system") not in found.configs, name
                assert ConfigId("sampling", "tern") in found.configs, name

    def test_writing_replaces_a_link_and_never_writes_through_it(self, repository: Path) -> None:
        target = repository.parent / "shared/system.yaml"
        before = target.read_bytes()
        write_all(repository, {"configs/prompts/system.yaml": b"kind: prompts\nsystem: golden\n"})
        assert target.read_bytes() == before
        assert not (repository / "configs/prompts/system.yaml").is_symlink()

    def test_writing_below_a_linked_folder_is_refused_before_anything_is_written(
        self, repository: Path
    ) -> None:
        (repository / "configs/prompts/out").symlink_to("../../../shared")
        with pytest.raises(Unreadable):
            write_all(repository, {"configs/a.yaml": b"x", "configs/prompts/out/system.yaml": b"x"})
        assert not (repository / "configs/a.yaml").exists()


def test_every_case_of_the_group_has_a_test() -> None:
    cases = {path.name for path in CASES.glob("C*")}
    assert cases == {name.removeprefix("Test") for name in globals() if name.startswith("TestC")}
