"""Approvals made once, by the release that first wrote each format: every later one must accept them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from governance.adapters import ssh
from governance.adapters.files import MemoryTree
from governance.review import statement
from governance.review.approval import judge, read_approvals, subject_of
from governance.review.model import Authors
from governance.review.policy import Policy
from governance.tiers.reader import read_yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
FORMATS = sorted(path.name for path in HERE.iterdir() if path.is_dir() and path.name.startswith("v"))


def records(version: str) -> MemoryTree:
    folder = HERE / version / "records"
    files = {
        statement.FOLDER + path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*.json")
    }
    return MemoryTree(files)


def expected(version: str) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads((HERE / version / "expected.json").read_text("utf-8"))
    return tree


def policy(version: str) -> Policy:
    tree = read_yaml((HERE / version / "tierlock.yaml").read_bytes(), "tierlock.yaml").tree
    assert isinstance(tree, dict)
    return Policy.of(tree)


@pytest.mark.parametrize("version", FORMATS)
def test_every_approval_ever_written_verifies(version: str) -> None:
    """With the real ssh-keygen, for every kind of key: ed25519, ecdsa, rsa, and a hardware key."""
    seen = {one.where: one for one in read_approvals(records(version))}
    withdrawn = [one for one in expected(version)["records"] if "withdraws" in one]
    assert len(seen) == len(expected(version)["records"]) - len(withdrawn)
    for one in seen.values():
        now = one.issued + timedelta(minutes=1)
        judged = judge(one, subject_of(one), policy(version), Authors(), now, ssh.verify)
        assert judged.accepted != one.withdrawn, judged.why
        assert judged.why == ("it was withdrawn" if one.withdrawn else "")


@pytest.mark.parametrize("version", FORMATS)
def test_every_record_says_what_it_said(version: str) -> None:
    source, wanted = records(version), expected(version)
    assert policy(version).digest == wanted["policy"]
    for one in wanted["records"]:
        record = statement.load(source.read(one["path"]), one["path"])
        said: Any = record.said
        assert (record.path, record.digest, said.person) == (
            one["path"],
            one["payload_sha256"],
            one["person"],
        )
        assert (said.subject_key, statement.time_text(said.issued)) == (one["subject"], one["issued"])
        if "withdraws" in one:
            assert said.approval == one["withdraws"]
            continue
        subject = said.subject
        assert (subject.before, subject.after, subject.scheme) == (one["before"], one["after"], one["scheme"])
        assert (said.reason, said.emergency, said.policy) == (
            one["reason"],
            one["emergency"],
            wanted["policy"],
        )
        assert (said.expires and statement.time_text(said.expires)) == one["expires"]


@pytest.mark.parametrize("version", FORMATS)
def test_an_altered_record_of_any_release_is_refused(version: str) -> None:
    source = records(version)
    for one in expected(version)["records"]:
        raw = source.read(one["path"])
        for at in range(0, len(raw), 97):
            changed = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
            for found in read_approvals(MemoryTree({one["path"]: changed})):
                now = datetime(2026, 11, 30, 9, 1, tzinfo=UTC)
                subject = subject_of(found) if not found.refused and not found.unjudged else None
                assert (
                    subject is None
                    or not judge(found, subject, policy(version), Authors(), now, ssh.verify).accepted
                )


def test_the_page_verifies_a_record_with_ssh_keygen_alone(tmp_path: Path) -> None:
    """The commands of docs/reference/approvals.md, as they stand there, without tierlock."""
    page = (ROOT / "docs/reference/approvals.md").read_text("utf-8")
    script = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)[0]
    people = policy("v1").people
    first = expected("v1")["records"][0]
    shutil.copy(
        HERE / "v1/records" / first["path"].removeprefix(statement.FOLDER), tmp_path / "approval.json"
    )
    key = people[first["person"]].keys[0].key
    (tmp_path / "key.pub").write_text(f"{key}\n")
    shell = ("bash", "-euo", "pipefail", "-c", script)
    done = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'Good "tierlock" signature for reviewer' in done.stdout
    other = people["reviewer-b"].keys[0].key
    (tmp_path / "key.pub").write_text(f"{other}\n")
    assert subprocess.run(shell, cwd=tmp_path, capture_output=True, check=False).returncode != 0


def test_the_page_shows_the_vectors_that_are_kept() -> None:
    page = (ROOT / "docs/reference/approvals.md").read_text("utf-8")
    for one in expected("v1")["records"]:
        assert one["payload_sha256"] in page, one["path"]
        assert one["signed_sha256"] in page, one["path"]
