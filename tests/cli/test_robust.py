"""Whatever lies in a governed folder: one clear message with a place, the right exit code, no traceback."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from governance.cli.main import guarded
from tests.support.command import Tierlock, environment

SAMPLING = "configs/sampling/factual.yaml"
SYSTEM = "configs/prompts/summarize/system.md"
BAD = {
    "empty": b"",
    "only blanks": b"  \n\n",
    "truncated in a mapping": b"kind: sampling\ntemperature: {a: ",
    "truncated in a string": b'kind: sampling\ntask: "fact',
    "truncated in UTF-8": "kind: sampling\ntask: ü".encode()[:-1],
    "Latin-1": "kind: sampling\ntask: größe\n".encode("latin-1"),
    "UTF-16": "kind: sampling\n".encode("utf-16"),
    "binary": bytes(range(256)) * 40,
    "a picture": b"\x89PNG\r\n\x1a\n" + os.urandom(2000),
    "control characters": b"kind: sampling\ntask: a\x00b\x07\x1b[2J\n",
    "a list": b"- kind: sampling\n",
    "a number": b"42\n",
    "deep flow": b"kind: " + b"[" * 5000 + b"]" * 5000,
    "deep block": b"".join(b" " * i + b"a:\n" for i in range(3000)),
    "a long line": b"kind: sampling\ntask: " + b"x" * 300_000 + b"\n",
    "many keys": b"kind: sampling\n" + b"".join(b"k%d: 1\n" % i for i in range(20_000)),
    "a number without end": b"kind: sampling\nseed: " + b"9" * 5000 + b"\n",
    "an alias bomb": b"a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: [*b,*b,*b]\n",
    "a tag": b"kind: !!python/object/apply:os.system [true]\n",
    "two documents": b"kind: sampling\n---\nkind: sampling\n",
    "CRLF and CR": b"kind: sampling\r\ntemperature: 0.1\rseed: 1\n",
}


@pytest.mark.parametrize("name", BAD)
def test_a_broken_config_is_a_finding_with_its_file(tierlock: Tierlock, name: str) -> None:
    tierlock.write(SAMPLING, BAD[name])
    ran = tierlock.run("check")
    assert ran.code == 1, ran
    assert ran.out.startswith(SAMPLING)
    assert ran.err == ""
    assert len(ran.out) < 100_000


@pytest.mark.parametrize("name", BAD)
def test_a_broken_services_file_is_a_finding_with_its_file(tierlock: Tierlock, name: str) -> None:
    tierlock.write("tierlock.yaml", BAD[name])
    ran = tierlock.run("check")
    assert ran.code == 1, ran
    assert "tierlock.yaml" in ran.out
    assert ran.err == ""


@pytest.mark.parametrize("command", ["resolve", "fingerprint"])
@pytest.mark.parametrize("name", ["truncated in a mapping", "binary", "deep flow", "an alias bomb"])
def test_a_broken_config_leaves_the_telling_commands_undecided(
    tierlock: Tierlock, command: str, name: str
) -> None:
    tierlock.write(SAMPLING, BAD[name])
    ran = tierlock.run(command, "summarizer")
    assert ran.code == 3, ran
    assert "sampling" in ran.out + ran.err


@pytest.mark.parametrize("name", BAD)
def test_a_broken_source_of_an_import_is_told(bare: Tierlock, name: str) -> None:
    for suffix in ("yaml", "json", "sh", "txt"):
        bare.write(f"source.{suffix}", BAD[name])
        ran = bare.run("import", f"source.{suffix}")
        assert ran.code in {1, 3}, (suffix, ran)
        assert f"source.{suffix}" in ran.out + ran.err


def test_a_huge_file_is_refused_by_its_size_without_being_read(tierlock: Tierlock) -> None:
    with (tierlock.folder / SAMPLING).open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    start = time.monotonic()
    ran = tierlock.run("check")
    assert ran.code == 1
    assert SAMPLING in ran.out
    assert time.monotonic() - start < 5


def test_a_huge_prompt_is_refused_by_its_size(tierlock: Tierlock) -> None:
    with (tierlock.folder / SYSTEM).open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    ran = tierlock.run("check")
    assert ran.code == 1
    assert "system.md" in ran.out


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "inside.yaml").write_text("kind: sampling\n")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("path", [SAMPLING, SYSTEM, "tierlock.yaml"])
@pytest.mark.parametrize("make", [_folder, _pipe, _dangling, _loop, _device])
def test_what_is_no_regular_file_is_named_and_never_read(tierlock: Tierlock, path: str, make: object) -> None:
    (tierlock.folder / path).unlink()
    make(tierlock.folder / path)  # type: ignore[operator]
    ran = tierlock.run("check")
    assert ran.code in {1, 3}, ran
    assert path.rpartition("/")[2] in ran.out + ran.err


def test_a_link_in_the_place_of_a_governed_folder_is_named(tierlock: Tierlock, tmp_path: Path) -> None:
    shutil.move(tierlock.folder / "configs/sampling", tmp_path / "elsewhere")
    (tierlock.folder / "configs/sampling").symlink_to(tmp_path / "elsewhere")
    ran = tierlock.run("check")
    assert ran.code == 1
    assert "configs/sampling" in ran.out


def test_a_name_that_is_not_utf8_is_refused_by_name(tierlock: Tierlock) -> None:
    name = os.fsencode(tierlock.folder / "configs/sampling") + b"/caf\xe9.yaml"
    Path(os.fsdecode(name)).write_text("kind: sampling\n")
    ran = tierlock.run("check")
    assert ran.code == 1
    assert "caf\\xe9" in ran.out


def test_an_unknown_revision_is_undecided(tierlock: Tierlock) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tierlock.folder, check=True)
    ran = tierlock.run("check", "--rev", "no-such-branch")
    assert ran.code == 3
    assert "no-such-branch" in ran.err


def test_outside_of_git_the_index_is_undecided(tierlock: Tierlock) -> None:
    ran = tierlock.run("check", "--staged")
    assert ran.code == 3
    assert "git" in ran.err


@pytest.mark.parametrize("args", [("check", "--staged"), ("check", "--rev", "HEAD")])
def test_a_missing_git_is_undecided_and_named(tierlock: Tierlock, args: tuple[str, ...]) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tierlock.folder, check=True)
    ran = tierlock.spawn(*args, env={"PATH": "/nowhere"})
    assert ran.code == 3
    assert "git" in ran.err
    assert "Traceback" not in ran.err


def test_a_path_outside_of_the_repository_is_a_usage_error(tierlock: Tierlock) -> None:
    ran = tierlock.run("check", "../elsewhere.yaml")
    assert ran.code == 2
    assert "-C" in ran.err


UP = "import sys; from governance.cli.start import main; print('up', flush=True); sys.exit(main())"


def interrupt(process: subprocess.Popen[bytes]) -> None:
    """Press Ctrl-C until it is heard: Python drops one that falls into a finaliser of its import system."""
    for _ in range(20):
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            continue
        return


@pytest.mark.parametrize("wait", [0.05, 0.1, 0.2, 0.4])
def test_an_interrupt_ends_with_130_and_leaves_no_half_written_file(tierlock: Tierlock, wait: float) -> None:
    """A pipe that nobody writes to keeps `import -` waiting until the signal comes, at any moment."""
    process = subprocess.Popen(
        [sys.executable, "-c", UP, "import", "-", "-o", "out", "--write", "json=report.json"],
        cwd=tierlock.folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    time.sleep(wait)
    interrupt(process)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, (out, err)
    assert b"Traceback" not in err
    left = [file.name for file in tierlock.folder.rglob("*") if file.name.endswith((".tmp", "report.json"))]
    assert left == []


def test_an_interrupt_that_something_swallows_still_ends_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    """A compiled extension may catch the exception and go on; the run was interrupted all the same."""

    def swallowing() -> int:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return 0

    assert guarded(swallowing) == 130
    assert "interrupted" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("wait", [0.1, 0.3, 0.6, 1.0])
def test_an_interrupted_check_leaves_no_half_written_file(tierlock: Tierlock, wait: float) -> None:
    """However far it got, there is a whole report or none, and the code says which."""
    for number in range(400):
        text = (tierlock.folder / SAMPLING).read_text()
        tierlock.write(f"configs/sampling/more-{number}.yaml", text)
    process = subprocess.Popen(
        [sys.executable, "-c", UP, "check", "--no-cache", "--write", "json=report.json"],
        cwd=tierlock.folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    time.sleep(wait)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in {0, 130}
    assert b"Traceback" not in err
    report = tierlock.folder / "report.json"
    assert not report.exists() or report.read_text().endswith("}\n")
    assert list(tierlock.folder.rglob("*.tmp")) == []
