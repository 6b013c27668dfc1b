"""Signing and verifying with the real ssh-keygen and a real agent."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from governance.adapters import ssh, sshsig
from governance.errors import MissingTool, Unreadable
from tests.support.hardware_key import HardwareKey, agent_of

DATA = b"what is accepted"
KINDS = {"ed25519": [], "ecdsa": ["-b", "384"], "rsa": ["-b", "2048"]}


def make_key(folder: Path, kind: str = "ed25519", name: str = "key", passphrase: str = "") -> Path:
    path = folder / name
    more = KINDS.get(kind, [])
    subprocess.run(
        ("ssh-keygen", "-q", "-t", kind, *more, "-N", passphrase, "-C", "a comment", "-f", path), check=True
    )
    return path


def public(path: Path) -> str:
    return path.with_name(path.name + ".pub").read_text().strip()


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a real ssh-agent."""
    path = tmp_path / "agent.sock"
    with subprocess.Popen(("ssh-agent", "-D", "-a", path), stdout=subprocess.DEVNULL) as running:
        while not path.exists():
            assert running.poll() is None
        yield {**os.environ, "SSH_AUTH_SOCK": str(path)}
        running.terminate()


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_key_of_each_kind_signs_verifies_by_its_public_key(tmp_path: Path, kind: str) -> None:
    key = make_key(tmp_path, kind)
    made = ssh.sign(DATA, str(key))
    assert ssh.verify(DATA, made, public(key))
    parts = sshsig.parse(made)
    assert parts is not None
    assert parts.key == ssh.fingerprint(public(key))
    assert parts.namespace == "tierlock"


def test_a_fingerprint_is_the_one_ssh_keygen_shows(tmp_path: Path) -> None:
    key = make_key(tmp_path)
    shown = subprocess.run(("ssh-keygen", "-l", "-f", key), capture_output=True, text=True, check=True).stdout
    assert ssh.fingerprint(public(key)) in shown.split()


def test_a_signature_is_of_these_bytes_this_key_and_this_namespace(tmp_path: Path) -> None:
    key, other = make_key(tmp_path), make_key(tmp_path, name="other")
    made = ssh.sign(DATA, str(key))
    assert not ssh.verify(DATA + b".", made, public(key))
    assert not ssh.verify(DATA, made, public(other))
    assert not ssh.verify(DATA, ssh.sign(DATA, str(key), "git"), public(key))
    assert not ssh.verify(DATA, made, "no key at all")


def test_a_signature_has_no_byte_that_can_change(tmp_path: Path) -> None:
    """ssh-keygen itself takes a signature of version 0, or in lines of any width; here there is one form."""
    key = make_key(tmp_path)
    made = ssh.sign(DATA, str(key))
    parts = sshsig.parse(made)
    assert parts is not None
    for at in range(0, len(made), 3):
        changed = made[:at] + chr(ord(made[at]) ^ 1) + made[at + 1 :]
        seen = sshsig.parse(changed)
        assert seen is None or seen != parts or not ssh.verify(DATA, changed, public(key)), at


def test_version_zero_which_ssh_keygen_takes_is_refused(tmp_path: Path) -> None:
    import base64

    key = make_key(tmp_path)
    made = ssh.sign(DATA, str(key))
    blob = bytearray(base64.b64decode("".join(made.split("\n")[1:-2])))
    assert blob[9] == 1
    blob[9] = 0
    older = sshsig.armour(bytes(blob))
    signers = tmp_path / "signers"
    signers.write_text(f"a {public(key)}\n")
    (tmp_path / "sig").write_text(older)
    argv = ("ssh-keygen", "-Y", "verify", "-f", signers, "-I", "a", "-n", "tierlock", "-s", tmp_path / "sig")
    assert subprocess.run(argv, input=DATA, capture_output=True, check=False).returncode == 0
    assert not ssh.verify(DATA, older, public(key))


def test_a_key_in_the_agent_signs_by_its_public_key_alone(tmp_path: Path, agent: dict[str, str]) -> None:
    key = make_key(tmp_path)
    subprocess.run(("ssh-add", "-q", key), env=agent, check=True)
    line = public(key)
    key.unlink()
    assert ssh.verify(DATA, ssh.sign(DATA, line, environ=agent), line)
    assert ssh.verify(DATA, ssh.sign(DATA, f"{key}.pub", environ=agent), line)
    assert [ssh.fingerprint(one) for one in ssh.agent_keys(agent)] == [ssh.fingerprint(line)]


def test_a_hardware_key_signs_through_the_agent(tmp_path: Path) -> None:
    """A token's signature covers more than the message; ssh-keygen makes and checks it as any other."""
    key = HardwareKey(b"\x07" * 32)
    with agent_of(key, tmp_path) as path:
        environ = {**os.environ, "SSH_AUTH_SOCK": path}
        assert ssh.agent_keys(environ) == (f"{key.public} token",)
        made = ssh.sign(DATA, key.public, environ=environ)
    assert ssh.verify(DATA, made, key.public)
    assert not ssh.verify(DATA + b".", made, key.public)


def test_a_key_that_the_agent_does_not_hold_is_named(tmp_path: Path, agent: dict[str, str]) -> None:
    key = make_key(tmp_path)
    line = public(key)
    key.unlink()
    with pytest.raises(Unreadable) as caught:
        ssh.sign(DATA, line, environ=agent)
    assert ssh.fingerprint(line) in caught.value.message


def test_no_agent_holds_no_keys() -> None:
    assert ssh.agent_keys({"PATH": os.environ["PATH"]}) == ()


def test_a_wrong_passphrase_is_an_error_that_names_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_ASKPASS", "/bin/false")
    monkeypatch.setenv("SSH_ASKPASS_REQUIRE", "force")
    key = make_key(tmp_path, passphrase="of the test")
    with pytest.raises(Unreadable, match="did not sign with"):
        ssh.sign(DATA, str(key))


def test_what_ssh_keygen_says_while_it_signs_is_passed_on(tmp_path: Path) -> None:
    said: list[str] = []
    key = make_key(tmp_path)
    ssh.sign(DATA, str(key), tell=said.append)
    assert said == []
    with pytest.raises(Unreadable):
        ssh.sign(DATA, str(tmp_path / "signers"), tell=said.append)


def test_without_ssh_keygen_nothing_is_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing tool is neither a good nor a bad signature."""
    key = make_key(tmp_path)
    made, line = ssh.sign(DATA, str(key)), public(key)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match="`ssh-keygen` is not installed"):
        ssh.verify(DATA, made, line)
    with pytest.raises(MissingTool):
        ssh.sign(DATA, str(key))


def test_an_ssh_keygen_that_knows_no_signatures_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = make_key(tmp_path)
    made, line = ssh.sign(DATA, str(key)), public(key)
    old = tmp_path / "bin" / "ssh-keygen"
    old.parent.mkdir()
    old.write_text('#!/bin/sh\necho "unknown option -- Y" >&2\nexit 1\n')
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{Path(shutil.which('sh') or '').parent}")
    with pytest.raises(MissingTool, match="cannot verify"):
        ssh.verify(DATA, made, line)
    with pytest.raises(MissingTool, match="cannot sign"):
        ssh.sign(DATA, str(key))


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    key = make_key(tmp_path)
    assert ssh.verify(DATA, ssh.sign(DATA, str(key)), public(key))
    assert list(temporary.iterdir()) == []


def test_the_public_key_of_a_private_one_is_found_or_asked_for(tmp_path: Path) -> None:
    key = make_key(tmp_path)
    line = public(key)
    assert ssh.public_key_of(str(key)) == line
    assert ssh.public_key_of(line) == line
    key.with_name("key.pub").unlink()
    assert ssh.public_key_of(str(key)).split()[:2] == line.split()[:2]
    with pytest.raises(Unreadable, match="there is no key"):
        ssh.public_key_of(str(tmp_path / "missing"))
