"""What each command does for a user, through `main(argv)`."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from governance.cli.scaffold import ENGINES, files
from tests.support.command import Tierlock
from tests.support.repos import Repo, isolated, make_repo

SAMPLING = "configs/sampling/factual.yaml"
SUITE = "evals/smoke.jsonl"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def committed(tierlock: Tierlock, monkeypatch: pytest.MonkeyPatch) -> Tierlock:
    """The scaffolded repository under git, with one commit."""
    for name, value in isolated().items():
        monkeypatch.setenv(name, value)
    make_repo(tierlock.folder).commit("first")
    return tierlock


class TestInit:
    @pytest.mark.parametrize("engine", ENGINES)
    def test_what_it_writes_passes_the_check(self, bare: Tierlock, engine: str) -> None:
        assert bare.run("init", "--engine", engine).code == 0
        ran = bare.run("check", "--format", "json")
        assert ran.code == 0
        assert [finding for finding in ran.json["findings"] if finding["severity"] == "error"] == []

    def test_the_default_has_not_even_a_warning(self, bare: Tierlock) -> None:
        bare.run("init")
        assert bare.run("check", "--format", "json").json["findings"] == []

    def test_its_service_has_effective_values_and_a_fingerprint(self, bare: Tierlock) -> None:
        bare.run("init")
        assert bare.run("fingerprint", "summarizer", "--format", "json").json["run"]["fold"]
        assert bare.run("resolve", "summarizer").code == 0

    def test_a_file_that_exists_is_never_touched(self, bare: Tierlock) -> None:
        bare.write("tierlock.yaml", "mine\n")
        ran = bare.run("init")
        assert ran.code == 0
        assert (bare.folder / "tierlock.yaml").read_text() == "mine\n"
        assert "kept   tierlock.yaml" in ran.out

    def test_a_second_run_writes_nothing(self, tierlock: Tierlock) -> None:
        before = {file: file.read_bytes() for file in tierlock.folder.rglob("*") if file.is_file()}
        assert tierlock.run("init").code == 0
        assert {file: file.read_bytes() for file in tierlock.folder.rglob("*") if file.is_file()} == before

    def test_every_config_names_a_schema_that_is_there(self, tierlock: Tierlock) -> None:
        for path in [*tierlock.folder.glob("configs/*/*.yaml"), tierlock.folder / "tierlock.yaml"]:
            first = path.read_text().splitlines()[0]
            schema = (path.parent / first.partition("$schema=")[2]).resolve()
            assert json.loads(schema.read_text())["$schema"]

    def test_every_file_of_the_scaffold_is_written(self) -> None:
        here = ROOT / "governance/cli/scaffold"
        sources = {file for file in here.rglob("*") if file.is_file() and file.suffix not in {".py", ".pyc"}}
        written = {
            content for engine in ENGINES for content in (bytes(data) for data in files(engine).values())
        }
        assert [
            file.name
            for file in sources
            if b"@" not in file.read_bytes() and file.read_bytes() not in written
        ] == []

    def test_the_bytes_of_prompts_survive_a_checkout_with_line_end_conversion(
        self, committed: Tierlock
    ) -> None:
        system = committed.folder / "configs/prompts/summarize/system.md"
        before = system.read_bytes()
        system.unlink()
        subprocess.run(["git", "-c", "core.autocrlf=true", "checkout", "."], cwd=committed.folder, check=True)
        assert system.read_bytes() == before


class TestCheck:
    def test_paths_narrow_it(self, tierlock: Tierlock) -> None:
        """To the configs that are named, and what the services bind that bind them."""
        other = "configs/sampling/other.yaml"
        tierlock.write(other, (tierlock.folder / SAMPLING).read_text().replace("temperature", "tempurature"))
        assert tierlock.run("check", SAMPLING, "configs/prompts", "evals").code == 0
        assert tierlock.run("check", other).code == 1
        assert tierlock.run("check", "other.yaml", cwd=tierlock.folder / "configs/sampling").code == 1
        for folder in (".", "configs", "configs/sampling", "configs/sampling/"):
            assert tierlock.run("check", folder).code == 1, folder
        assert tierlock.run("check", ".", cwd=tierlock.folder / "configs/sampling").code == 1

    def test_a_path_that_is_not_there_is_no_pass(self, tierlock: Tierlock) -> None:
        ran = tierlock.run("check", "configs/sampling/factul.yaml")
        assert (ran.code, ran.out) == (2, "")
        assert "`configs/sampling/factul.yaml` is not in the work tree" in ran.err

    def test_a_revision_is_judged_as_it_was(self, committed: Tierlock) -> None:
        committed.change(SAMPLING, "temperature", "tempurature")
        assert committed.run("check", "--rev", "HEAD").code == 0
        Repo(committed.folder).commit("broken")
        assert committed.run("check", "--rev", "HEAD").code == 1
        assert committed.run("check", "--rev", "HEAD~1").code == 0

    def test_the_index_is_judged_and_not_the_file(self, committed: Tierlock) -> None:
        committed.change(SAMPLING, "temperature", "tempurature")
        subprocess.run(["git", "add", "-A"], cwd=committed.folder, check=True)
        committed.change(SAMPLING, "tempurature", "temperature")
        assert committed.run("check").code == 0
        assert committed.run("check", "--staged").code == 1

    def test_a_commit_that_touches_no_governed_file_is_said_in_one_line(self, committed: Tierlock) -> None:
        committed.write("README.md", "hello\n")
        subprocess.run(["git", "add", "-A"], cwd=committed.folder, check=True)
        ran = committed.run("check", "--staged")
        assert (ran.code, ran.out) == (0, "PASS  no governed file is staged (1 other file is)\n")

    def test_a_suite_is_judged_with_the_services_that_name_it(self, tierlock: Tierlock) -> None:
        assert "3 configs and 1 suite" in tierlock.run("check").out
        tierlock.change(SUITE, '"article"', '"artikel"')
        assert tierlock.run("check", "configs/sampling").code == 0
        for asked in (("check",), ("check", SUITE), ("check", "configs/prompts"), ("check", "evals")):
            ran = tierlock.run(*asked)
            assert (ran.code, ran.out.count("TL710")) == (1, 3), asked

    def test_a_staged_suite_is_seen_and_so_is_one_that_is_taken_away(self, committed: Tierlock) -> None:
        committed.change(SUITE, '"contract"', '"contrakt"')
        subprocess.run(["git", "add", "-A"], cwd=committed.folder, check=True)
        ran = committed.run("check", "--staged")
        assert (ran.code, "TL708" in ran.out) == (1, True)
        subprocess.run(["git", "rm", "-qf", SUITE], cwd=committed.folder, check=True)
        ran = committed.run("check", "--staged")
        assert (ran.code, "TL701" in ran.out) == (1, True)

    def test_a_staged_module_of_scorers_has_every_suite_judged(self, committed: Tierlock) -> None:
        committed.write("evals/own.py", "def short(answer, item):\n    return len(answer) < 99\n")
        named = '"scorer": "python:evals.own:short"}\n'
        committed.write(SUITE, '{"id": "a", "task": "summarising", "prompt": "Hello", ' + named)
        Repo(committed.folder).commit("own scorer")
        assert committed.run("check").code == 0
        committed.write("evals/own.py", "def long(answer, item):\n    return len(answer) > 99\n")
        subprocess.run(["git", "add", "-A"], cwd=committed.folder, check=True)
        ran = committed.run("check", "--staged")
        assert (ran.code, "TL713" in ran.out) == (1, True)

    def test_a_suite_is_part_of_what_is_remembered(self, tierlock: Tierlock) -> None:
        assert tierlock.run("check").code == 0
        tierlock.change(SUITE, "Bergen", "Bodø")
        tierlock.change(SUITE, '"any"', '"ani"')
        assert tierlock.run("check").code == 1

    def test_nothing_staged_has_the_whole_index_judged(self, committed: Tierlock) -> None:
        ran = committed.run("check", "--staged")
        assert ran.code == 0
        assert "in 3 configs" in ran.out

    def test_a_repository_inside_a_larger_one_is_judged_by_its_own_paths(
        self, bare: Tierlock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in isolated().items():
            monkeypatch.setenv(name, value)
        bare.run("init", "services/llm")
        make_repo(bare.folder).commit("first")
        assert bare.run("check", "--staged", "-C", "services/llm").code == 0
        bare.change(f"services/llm/{SAMPLING}", "temperature", "tempurature")
        subprocess.run(["git", "add", "-A"], cwd=bare.folder, check=True)
        ran = bare.run("check", "--staged", "-C", "services/llm")
        assert ran.code == 1
        assert ran.out.startswith(SAMPLING)
        assert bare.run("check", "--staged").code != 0, "from the top it must not pass by not looking"
        assert bare.run("check", "--staged", cwd=bare.folder / "services/llm").code == 1


class TestRemembered:
    def test_the_same_content_gives_the_same_words_without_judging(self, tierlock: Tierlock) -> None:
        tierlock.change(SAMPLING, "temperature: 0.1", "temperature: 0.9")
        first = tierlock.run("check")
        kept = list((tierlock.folder.parent / "cache").rglob("*.json"))
        assert len(kept) == 1
        assert tierlock.run("check") == first == tierlock.run("check", "--no-cache")

    @pytest.mark.parametrize(
        "path",
        [SAMPLING, "tierlock.yaml", "configs/prompts/summarize/system.md", "configs/base/smollm2.yaml"],
    )
    def test_any_changed_byte_is_judged_anew_even_with_the_old_time_stamp(
        self, tierlock: Tierlock, path: str
    ) -> None:
        import os

        tierlock.run("check")
        file = tierlock.folder / path
        status = file.stat()
        file.write_bytes(file.read_bytes()[:-1] + b"\xff")
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert tierlock.run("check").code == 1

    def test_a_new_file_is_judged(self, tierlock: Tierlock) -> None:
        tierlock.run("check")
        tierlock.write("configs/sampling/new.yaml", "kind: nonsense\n")
        assert tierlock.run("check").code == 1

    @pytest.mark.parametrize("damage", [b"", b"{}", b"\xff", b'{"schema": "tierlock.report/9"}'])
    def test_a_damaged_memory_is_not_believed(self, tierlock: Tierlock, damage: bytes) -> None:
        expected = tierlock.run("check")
        for kept in (tierlock.folder.parent / "cache").rglob("*.json"):
            kept.write_bytes(damage)
        assert tierlock.run("check") == expected

    def test_a_cache_that_cannot_be_written_is_no_error(
        self, tierlock: Tierlock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tierlock.write("taken", "a file")))
        assert tierlock.run("check").code == 0

    def test_nothing_is_kept_inside_the_repository(self, tierlock: Tierlock) -> None:
        before = sorted(tierlock.folder.rglob("*"))
        tierlock.run("check")
        assert sorted(tierlock.folder.rglob("*")) == before


class TestResolve:
    def test_every_value_says_where_it_comes_from(self, tierlock: Tierlock) -> None:
        values = tierlock.run("resolve", "summarizer", "--format", "json").json["values"]
        assert {"sampling.temperature", "engine.options.max_model_len"} <= {value["key"] for value in values}
        assert [value["key"] for value in values if not value["provenance"]] == []

    def test_an_unknown_service_is_answered_with_the_nearest(self, tierlock: Tierlock) -> None:
        ran = tierlock.run("resolve", "sumarizer")
        assert ran.code == 2
        assert "did you mean `summarizer`?" in ran.err

    def test_pinning_replaces_inherit_and_keeps_every_other_line(self, tierlock: Tierlock) -> None:
        before = (tierlock.folder / SAMPLING).read_text().splitlines()
        ran = tierlock.run("resolve", "summarizer", "--write")
        assert ran.code == 0, ran
        after = (tierlock.folder / SAMPLING).read_text().splitlines()
        changed = [(old, new) for old, new in zip(before, after, strict=False) if old != new]
        assert len(changed) == 1
        assert changed[0][0].replace("inherit", "40").split() == changed[0][1].split()
        assert tierlock.run("check").code == 0

    def test_pinned_values_stay_what_they_were(self, tierlock: Tierlock) -> None:
        def by_key() -> dict[str, object]:
            values = tierlock.run("resolve", "summarizer", "--format", "json").json["values"]
            return {value["key"]: value.get("value") for value in values}

        before = by_key()
        tierlock.run("resolve", "summarizer", "--write")
        assert by_key() == before

    def test_pinning_twice_changes_nothing_more(self, tierlock: Tierlock) -> None:
        tierlock.run("resolve", "summarizer", "--write")
        once = (tierlock.folder / SAMPLING).read_bytes()
        assert tierlock.run("resolve", "summarizer", "--write").code == 0
        assert (tierlock.folder / SAMPLING).read_bytes() == once

    def test_the_values_of_an_old_revision_can_be_pinned(self, committed: Tierlock) -> None:
        committed.change(SAMPLING, "min_p: 0.0", "min_p: inherit")
        ran = committed.run("resolve", "summarizer", "--at", "HEAD", "--write")
        assert ran.code == 0

    def test_write_with_a_format_still_writes_a_file_and_pins_nothing(self, tierlock: Tierlock) -> None:
        before = (tierlock.folder / SAMPLING).read_bytes()
        assert tierlock.run("resolve", "summarizer", "--write", "json=values.json").code == 0
        assert json.loads((tierlock.folder / "values.json").read_text())["values"]
        assert (tierlock.folder / SAMPLING).read_bytes() == before


class TestFingerprint:
    def folds(self, tierlock: Tierlock, *args: str) -> dict[str, str]:
        report = tierlock.run("fingerprint", "summarizer", "--format", "json", *args).json
        return {layer["name"]: layer.get("before") for layer in report["layers"]}

    def test_comments_and_order_change_nothing_and_one_value_changes_its_layers(
        self, tierlock: Tierlock
    ) -> None:
        before = self.folds(tierlock)
        file = tierlock.folder / SAMPLING
        lines = file.read_text().splitlines()
        head, rest = lines[:3], lines[3:]
        block = rest[rest.index(next(line for line in rest if line.startswith("overridable"))) :]
        file.write_text("\n".join([*head, "# a comment", *block, *reversed(rest[: -len(block)])]) + "\n")
        assert self.folds(tierlock) == before
        tierlock.change(SAMPLING, "temperature: 0.1", "temperature: 0.2")
        after = self.folds(tierlock)
        assert {layer for layer in before if before[layer] != after[layer]} == {"sampling", "effective"}

    def test_a_revision_has_the_fingerprint_it_had(self, committed: Tierlock) -> None:
        before = self.folds(committed)
        committed.change(SAMPLING, "temperature: 0.1", "temperature: 0.2")
        assert self.folds(committed, "--at", "HEAD") == before != self.folds(committed)

    def test_every_service_is_listed_without_a_name(self, tierlock: Tierlock) -> None:
        ran = tierlock.run("fingerprint")
        assert ran.code == 0
        assert "summarizer" in ran.out

    def test_whole_digests_are_shown_when_asked_for(self, tierlock: Tierlock) -> None:
        digest = self.folds(tierlock)["base"]
        assert digest not in tierlock.run("fingerprint", "summarizer").out
        assert digest in tierlock.run("fingerprint", "summarizer", "--full").out

    def test_what_is_left_out_is_listed_with_a_reason(self, bare: Tierlock) -> None:
        ran = bare.run("fingerprint", "--left-out")
        assert ran.code == 0
        assert "description" in ran.out


class TestImport:
    def test_a_launch_becomes_tier_files_that_can_be_checked(self, bare: Tierlock) -> None:
        bare.write("start.sh", "exec llama-server -m model.gguf -c 4096 --temp 0.2 --port 8080\n")
        ran = bare.run("import", "start.sh", "--name", "summarizer", "-o", ".")
        assert ran.code == 0, ran
        assert (bare.folder / "tierlock.yaml").exists()
        assert bare.run("check").code in {0, 1}

    def test_without_a_folder_nothing_is_written(self, bare: Tierlock) -> None:
        bare.write("start.sh", "exec llama-server -m model.gguf -c 4096\n")
        before = sorted(bare.folder.rglob("*"))
        assert bare.run("import", "start.sh").code == 0
        assert sorted(bare.folder.rglob("*")) == before

    def test_files_that_exist_are_kept_unless_forced(self, tierlock: Tierlock) -> None:
        tierlock.write("start.sh", "exec llama-server -m model.gguf -c 4096\n")
        ran = tierlock.run("import", "start.sh", "--name", "summarizer", "-o", ".")
        assert ran.code == 2
        assert "--force" in ran.err

    def test_standard_input_is_a_source(self, bare: Tierlock) -> None:
        ran = bare.spawn("import", "-", given=b"llama-server -m model.gguf -c 4096\n")
        assert ran.code == 0, ran

    def test_a_file_that_is_not_there_is_undecided(self, bare: Tierlock) -> None:
        ran = bare.run("import", "no.yaml")
        assert ran.code == 3
        assert "no.yaml" in ran.err


class TestCapture:
    def test_a_host_is_recorded_and_equals_itself(self, bare: Tierlock) -> None:
        ran = bare.run("capture", "-o", "host.json")
        assert ran.code == 0, ran
        assert json.loads((bare.folder / "host.json").read_text())
        assert bare.run("diff", "host.json", "host.json", "--exit-code").code in {0, 3}

    def test_weights_are_hashed_and_compared_with_what_the_service_declares(self, tierlock: Tierlock) -> None:
        tierlock.write("models/SmolLM2-135M-Instruct.Q4_1.gguf", b"not the file that was declared")
        ran = tierlock.run("capture", "--service", "summarizer", "--weights", "models", "--format", "json")
        assert ran.code == 1
        assert [finding for finding in ran.json["findings"] if finding["severity"] == "error"]

    def test_the_digests_of_weights_can_be_pasted_into_the_base_config(self, bare: Tierlock) -> None:
        bare.write("models/config.json", "{}\n")
        notes = bare.run("capture", "--weights", "models", "--format", "json").json["notes"]
        lines = [note for note in notes if note.startswith("  ")]
        assert lines[:3] == ["  model:", "    weights:", "      files:"]
        assert re.fullmatch(r' +config\.json: "blake3:[0-9a-f]{64}"', lines[3])
        assert set(lines) <= set(bare.run("capture", "--weights", "models").out.splitlines())

    def test_a_list_of_packages_stands_for_an_environment(self, bare: Tierlock) -> None:
        bare.write("requirements.txt", "vllm==0.8.2\ntorch==2.6.0+cu124\n")
        layers = bare.run("capture", "--freeze", "requirements.txt", "--format", "json").json["layers"]
        assert [layer["name"] for layer in layers] == ["packages"]

    @pytest.mark.parametrize(
        ("args", "code", "words"),
        [
            (("--freeze", "no.txt"), 3, "no.txt"),
            (("--weights", "no-folder"), 3, "no-folder"),
            (("--freeze", "a.txt", "--python", "b"), 2, "--freeze"),
            (("--mount", "models"), 2, "TARGET=PATH"),
            (("--service", "nobody"), 2, "nobody"),
        ],
    )
    def test_what_is_named_and_not_there_is_said(
        self, tierlock: Tierlock, args: tuple[str, ...], code: int, words: str
    ) -> None:
        ran = tierlock.run("capture", *args)
        assert ran.code == code, ran
        assert words in ran.err

    def test_no_value_of_a_secret_is_recorded(self, bare: Tierlock) -> None:
        ran = bare.spawn(
            "capture", "-o", "host.json", env={"HF_TOKEN": "hf_abcdefghijklmnopqrstuvwxyz0123456789"}
        )
        assert ran.code == 0, ran
        assert "hf_abcdef" not in (bare.folder / "host.json").read_text() + ran.out + ran.err

    def test_a_capture_adds_its_layers_to_a_fingerprint(self, tierlock: Tierlock) -> None:
        tierlock.run("capture", "-o", "host.json")
        report = tierlock.run("fingerprint", "summarizer", "--capture", "host.json", "--format", "json").json
        assert {"packages", "platform"} <= {layer["name"] for layer in report["layers"]}


class TestDiff:
    def test_without_names_the_work_tree_is_compared_with_head(self, committed: Tierlock) -> None:
        assert committed.run("diff", "--exit-code").code == 0
        committed.change(SAMPLING, "temperature: 0.1", "temperature: 0.2")
        ran = committed.run("diff")
        assert ran.code == 0
        assert "0.1 → 0.2" in ran.out
        assert committed.run("diff", "--exit-code").code == 1

    def test_layout_is_told_as_the_same_meaning(self, committed: Tierlock) -> None:
        committed.change(SAMPLING, "temperature: 0.1", "temperature: 0.10   # as before")
        ran = committed.run("diff", "--exit-code")
        assert ran.code == 0
        assert "same meaning" in ran.out

    def test_the_words_of_a_prompt_are_shown_to_who_asks(self, committed: Tierlock) -> None:
        committed.change("configs/prompts/summarize/system.md", "three", "four")
        for form in ("text", "json", "markdown", "github", "sarif", "junit"):
            assert "sentences" not in committed.run("diff", "--format", form).out
        assert "four" in committed.run("diff", "--show-content").out

    def test_two_files_need_no_repository(self, bare: Tierlock) -> None:
        bare.write("a.yaml", "kind: sampling\ntemperature: 1\n")
        bare.write("b.yaml", "kind: sampling\ntemperature: 1.0\n")
        assert bare.run("diff", "a.yaml", "b.yaml", "--exit-code").code == 0

    @pytest.mark.parametrize(
        ("sides", "words"), [(("HEAD", "nothing"), "nothing"), (("summarizer@nope", "HEAD"), "nope")]
    )
    def test_a_side_that_means_nothing_is_said(
        self, committed: Tierlock, sides: tuple[str, str], words: str
    ) -> None:
        ran = committed.run("diff", *sides)
        assert ran.code in {2, 3}
        assert words in ran.err

    def test_a_server_that_does_not_answer_is_undecided(self, tierlock: Tierlock) -> None:
        ran = tierlock.run("diff", "summarizer", "http://127.0.0.1:9")
        assert ran.code == 3
        assert "127.0.0.1:9" in ran.err + ran.out
