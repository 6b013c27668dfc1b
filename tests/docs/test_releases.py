"""docs/releases.md: every key of a record, every check, command and option that it names."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

from governance.adapters import ssh
from governance.cli.group import tierlock
from governance.release import record as records
from governance.release.verifying import SIGNATURE_NAMESPACE, verify
from tests.support.governed import governed, place
from tests.support.released import WITH_SUITE, cutting, prove, released
from tests.support.reviewed import key_of, public_key

PAGE = (Path(__file__).resolve().parents[2] / "docs/releases.md").read_text("utf-8")


def section(head: str) -> str:
    return re.split(r"^#+ ", PAGE.partition(f"# {head}\n")[2], flags=re.MULTILINE)[0]


def rows(text: str) -> set[str]:
    """The names in code in the first column of the tables of `text`."""
    cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_the_page_names_every_key_of_a_record(tmp_path: Path) -> None:
    record = released(governed(tmp_path, WITH_SUITE))
    keys = json.loads(records.dump(record)).keys()
    assert rows(section("What a record says")) == set(keys)


def test_the_page_names_every_check_of_a_cut(tmp_path: Path) -> None:
    repo = governed(tmp_path, WITH_SUITE)
    prove(repo)
    named = rows(section("What must hold when one is cut"))
    assert {one.name for one in cutting(repo).report.checks} <= named


def test_the_page_names_every_check_of_verify(tmp_path: Path) -> None:
    repo = governed(tmp_path, WITH_SUITE)
    named = rows(section("Verifying"))
    assert {one.name for one in verify(released(repo), place(repo))} <= named


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("tierlock ")] + re.findall(r"`(tierlock [^`]+)`", PAGE)


@pytest.mark.parametrize("line", commands())
def test_every_command_of_the_page_is_one(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    command: click.Command = tierlock
    context = click.Context(command)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name = words.pop(0)
        found = command.get_command(context, name)
        assert found is not None, f"there is no `{name}`"
        command = found
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known


def test_a_signature_is_verified_with_ssh_keygen_alone(tmp_path: Path) -> None:
    """The commands of the page, as they stand there, without tierlock."""
    record = released(governed(tmp_path / "repo", WITH_SUITE))
    data = records.dump(record)
    (tmp_path / "v1.json").write_bytes(data)
    (tmp_path / "v1.json.sig").write_text(ssh.sign(data, str(key_of("reviewer-a")), SIGNATURE_NAMESPACE))
    (tmp_path / "key.pub").write_text(f"{public_key('reviewer-a')}\n")
    script = re.findall(r"```sh\n(.*?)```", section("The signature"), re.DOTALL)[0]
    shell = ("bash", "-euo", "pipefail", "-c", script)
    done = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'Good "tierlock-release" signature for releaser' in done.stdout
    (tmp_path / "v1.json").write_bytes(data.replace(b"author-a", b"author-b"))
    assert subprocess.run(shell, cwd=tmp_path, capture_output=True, check=False).returncode != 0
