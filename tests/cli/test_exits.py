"""Exit codes, errors and streams: standard output is the report, and nobody ever sees a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from governance.cli import main as main_module
from governance.cli.group import COMMANDS
from governance.errors import IncompleteHistory, TierlockError, Unreadable, Usage
from governance.report.registry import RENDERERS
from tests.support.command import PROGRAM, Tierlock, environment

SAMPLING = "configs/sampling/factual.yaml"


class TestExitCodes:
    def test_a_wrong_command_line_is_2_and_names_the_nearest_right_word(self, bare: Tierlock) -> None:
        ran = bare.run("chek")
        assert (ran.code, ran.out) == (2, "")
        assert "did you mean `check`?" in ran.err

    @pytest.mark.parametrize(
        ("args", "words"),
        [
            (("check", "--frmat", "json"), "--format"),
            (("check", "--format", "yaml"), "'text'"),
            (("check", "--write", "sarif"), "FORMAT=PATH"),
            (("check", "--write", "pdf=x"), "choose from"),
            (("check", "--staged", "--rev", "HEAD"), "exclude each other"),
            (("completion", "powershell"), "bash"),
            (("init", "--engine", "none"), "llama.cpp"),
        ],
    )
    def test_a_usage_error_says_what_would_be_right(
        self, bare: Tierlock, args: tuple[str, ...], words: str
    ) -> None:
        ran = bare.run(*args)
        assert (ran.code, ran.out) == (2, "")
        assert words in ran.err
        assert "hint: " in ran.err

    def test_nothing_to_govern_is_undecided_not_a_pass(self, bare: Tierlock) -> None:
        ran = bare.run("check")
        assert ran.code == 3
        assert "hint: tierlock init" in ran.err

    @pytest.mark.parametrize(
        ("error", "code"),
        [(Usage("a", hint="b"), 2), (Unreadable("a", where="c:1"), 3), (IncompleteHistory("a"), 3)],
    )
    def test_an_error_ends_with_the_code_of_its_class(
        self, error: TierlockError, code: int, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def fail() -> int:
            raise error

        assert main_module.guarded(fail) == code
        assert capsys.readouterr().err.startswith("tierlock: ")

    def test_a_bug_is_70_and_asks_for_a_report_without_a_traceback(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main_module.guarded(lambda: 1 // 0) == 70
        said = capsys.readouterr().err
        assert "this is a bug in tierlock" in said
        assert "Traceback" not in said

    def test_the_traceback_of_a_bug_is_shown_when_asked_for(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TIERLOCK_DEBUG", "1")
        assert main_module.guarded(lambda: 1 // 0) == 70
        assert "ZeroDivisionError" in capsys.readouterr().err

    def test_an_interrupt_is_130(self, capsys: pytest.CaptureFixture[str]) -> None:
        def interrupted() -> int:
            raise KeyboardInterrupt

        assert main_module.guarded(interrupted) == 130
        assert "interrupted" in capsys.readouterr().err

    @pytest.mark.parametrize("form", RENDERERS)
    def test_no_format_changes_the_code_of_a_verdict(self, tierlock: Tierlock, form: str) -> None:
        tierlock.change("configs/sampling/factual.yaml", "temperature", "tempurature")
        ran = tierlock.run("check", "--format", form)
        assert ran.code == 1
        assert ran.out
        assert ran.err == ""


class TestHelp:
    def test_the_top_lists_every_command_and_the_exit_table(self, bare: Tierlock) -> None:
        ran = bare.run("--help")
        assert ran.code == 0
        for name in (*COMMANDS, "130", "undecided"):
            assert name in ran.out

    @pytest.mark.parametrize("name", COMMANDS)
    def test_every_command_teaches_with_examples(self, bare: Tierlock, name: str) -> None:
        ran = bare.run(name, "--help")
        assert ran.code == 0
        assert "Examples" in ran.out
        assert ran.out.count(f"tierlock {name}") >= 2

    @pytest.mark.parametrize("name", COMMANDS)
    def test_every_option_says_what_it_does(self, bare: Tierlock, name: str) -> None:
        from governance.cli.group import tierlock

        command = tierlock.get_command(None, name)  # type: ignore[arg-type]
        silent = [
            param.name for param in command.params if isinstance(param, click.Option) and not param.help
        ]
        assert silent == []

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_completion_is_a_script_for_the_shell(self, bare: Tierlock, shell: str) -> None:
        ran = bare.run("completion", shell)
        assert ran.code == 0
        assert "_TIERLOCK_COMPLETE" in ran.out

    def test_bash_reads_its_script(self, bare: Tierlock) -> None:
        script = bare.run("completion", "bash").out
        done = subprocess.run(["bash", "-n"], input=script.encode(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr

    def test_service_names_complete(self, tierlock: Tierlock) -> None:
        asked = {
            "_TIERLOCK_COMPLETE": "bash_complete",
            "COMP_WORDS": "tierlock resolve su",
            "COMP_CWORD": "2",
        }
        assert "summarizer" in tierlock.spawn(env=asked).out

    def test_the_version_is_said_in_both_ways(self, bare: Tierlock) -> None:
        from governance import __version__

        assert bare.run("--version").out == f"tierlock {__version__}\n"
        assert bare.run("version", "--format", "json").json["run"]["version"] == __version__


class TestStreams:
    def test_a_report_goes_to_standard_output_and_to_files_in_other_formats(self, tierlock: Tierlock) -> None:
        files = [f"--write={form}=out/report.{form}" for form in RENDERERS]
        ran = tierlock.run("check", "--format", "json", *files)
        assert ran.code == 0
        assert ran.err == ""
        assert sorted(file.name for file in (tierlock.folder / "out").iterdir()) == sorted(
            f"report.{form}" for form in RENDERERS
        )
        assert json.loads((tierlock.folder / "out/report.json").read_text()) == ran.json

    def test_a_file_that_cannot_be_written_is_said(self, tierlock: Tierlock) -> None:
        tierlock.write("taken", "a file, not a folder")
        ran = tierlock.run("check", "--write", "json=taken/report.json")
        assert ran.code == 3
        assert "taken/report.json" in ran.err

    @pytest.mark.parametrize("place", ["check", "version"])
    def test_a_closed_pipe_is_no_error_and_changes_no_code(self, tierlock: Tierlock, place: str) -> None:
        read, write = os.pipe()
        os.close(read)
        try:
            done = subprocess.run(
                [*PROGRAM, place],
                cwd=tierlock.folder,
                env=environment(),
                stdout=write,
                stderr=subprocess.PIPE,
                check=False,
            )
        finally:
            os.close(write)
        assert (done.returncode, done.stderr) == (0, b"")

    def test_a_closed_pipe_is_no_error_on_the_fast_way_either(self, tierlock: Tierlock) -> None:
        tierlock.write("README.md", "hello\n")
        subprocess.run(["git", "init", "-q"], cwd=tierlock.folder, check=True)
        subprocess.run(["git", "add", "README.md"], cwd=tierlock.folder, check=True)
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(
            [*PROGRAM, "check", "--staged"],
            cwd=tierlock.folder,
            env=environment(),
            stdout=write,
            stderr=subprocess.PIPE,
            check=False,
        )
        os.close(write)
        assert (done.returncode, done.stderr) == (0, b"")

    @pytest.mark.parametrize("staged", ["README.md", SAMPLING])
    def test_the_console_script_says_everything_before_it_leaves(
        self, tierlock: Tierlock, staged: str
    ) -> None:
        """It ends without taking the interpreter apart, so nothing may be left in a buffer."""
        tierlock.write("README.md", "hello\n")
        subprocess.run(["git", "init", "-q"], cwd=tierlock.folder, check=True)
        subprocess.run(["git", "add", staged], cwd=tierlock.folder, check=True)
        code = "import sys; from governance.cli.start import main; sys.exit(main())"
        script = [sys.executable, "-c", code, "check", "--staged"]
        done = subprocess.run(
            script, cwd=tierlock.folder, env=environment(), capture_output=True, check=False
        )
        expected = tierlock.spawn("check", "--staged")
        assert (done.returncode, done.stdout.decode(), done.stderr.decode()) == expected

    def test_the_fast_way_imports_nothing_heavy(self, tierlock: Tierlock) -> None:
        """Imports decide what a commit that touches no governed file costs."""
        tierlock.write("README.md", "hello\n")
        subprocess.run(["git", "init", "-q"], cwd=tierlock.folder, check=True)
        subprocess.run(["git", "add", "README.md"], cwd=tierlock.folder, check=True)
        code = "import sys; from governance.cli.start import main; main(['check', '--staged'])"
        code += "; print(*sys.modules)"
        done = subprocess.run(
            [sys.executable, "-S", "-c", code],
            cwd=tierlock.folder,
            env=environment(),
            capture_output=True,
            check=True,
        )
        said, modules = done.stdout.decode().splitlines()
        assert said.startswith("PASS  no governed file is staged")
        heavy = {
            "re",
            "enum",
            "typing",
            "dataclasses",
            "subprocess",
            "pathlib",
            "click",
            "pydantic",
            "json",
            "ruamel",
        }
        assert heavy & set(modules.split()) == set()

    def test_a_closed_pipe_does_not_turn_a_block_into_a_pass(self, tierlock: Tierlock) -> None:
        tierlock.change("configs/sampling/factual.yaml", "temperature", "tempurature")
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(
            [*PROGRAM, "check"],
            cwd=tierlock.folder,
            env=environment(),
            stdout=write,
            stderr=subprocess.PIPE,
            check=False,
        )
        os.close(write)
        assert (done.returncode, done.stderr) == (1, b"")

    def test_a_terminal_that_cannot_show_a_character_gets_an_escape(self, tierlock: Tierlock) -> None:
        tierlock.change("configs/sampling/factual.yaml", "temperature: 0.1", "größe: 0.1")
        ran = tierlock.spawn("check", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
        assert ran.code == 1
        assert "gr\\xf6\\xdfe" in ran.out

    def test_colour_needs_a_terminal_or_a_word(self, tierlock: Tierlock) -> None:
        assert "\x1b[" not in tierlock.run("check").out
        assert "\x1b[" in tierlock.run("check", "--colour", "always").out

    def test_the_output_names_no_absolute_path(self, tierlock: Tierlock, tmp_path: Path) -> None:
        tierlock.change("configs/sampling/factual.yaml", "temperature", "tempurature")
        for form in RENDERERS:
            assert str(tmp_path) not in tierlock.run("check", "--format", form).out

    def test_the_same_input_gives_the_same_bytes(self, tierlock: Tierlock) -> None:
        for form in RENDERERS:
            first, second = (tierlock.run("check", "--no-cache", "--format", form).out for _ in range(2))
            assert first == second
