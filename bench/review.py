"""Review as people wait for it: the gate as a whole process, and the audit of a long history.

- `review gate` for a commit that touches 3 of 1,000 and 3 of 20,000 governed files.
- `review audit` of 10,000 commits in a repository with 1,000 governed files, twice. As teams have it: one
  commit in five moves a config, each with an approval and its real signature, a third of them by a merge. And
  at its worst: every commit moves a config and nobody approved any. Peer: `git log` over the same files.
- Histories are made with `git fast-import`, signatures by ssh-keygen.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from bench import corpus
from bench.measure import Row, console_script, processes, table
from governance.adapters import ssh
from governance.adapters.files import MemoryTree
from governance.fingerprint.layers import config_digest
from governance.review import statement
from governance.review.model import Signature, Subject, SubjectKind
from governance.review.policy import Policy
from governance.review.statement import Record, Statement
from governance.tiers.config import ConfigId, load_config
from governance.tiers.reader import read_yaml

ROUNDS = int(os.environ.get("TIERLOCK_BENCH_ROUNDS", "9"))
COMMITS = int(os.environ.get("TIERLOCK_BENCH_COMMITS", "10000"))
GOVERNED = 1000
START = 1_790_000_000
MOVES = {"base": r"max_num_seqs: (\d+)", "sampling": r"\nseed: (\d+)", "prompts": r"max_sentences: (\d+)"}
REVIEW = """\
review:
  people:
    author-a: {{emails: [author-a@example.org]}}
    reviewer-a: {{keys: ["{key}"], emails: [reviewer-a@example.org]}}
  roles: {{platform: [reviewer-a]}}
  base: {{approvals: 1, from: [platform]}}
  sampling: {{approvals: 1, from: [platform]}}
  prompts: {{approvals: 1, from: [platform]}}
  protected: [main]
"""


def main() -> int:
    """Make the repositories, measure, print the table."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        script = console_script(top)
        key = top / "key"
        subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key), check=True)
        rows = [
            gate(top / f"gate-{count}", script, key, count, goal)
            for count, goal in ((1000, 200), (20000, 300))
        ]
        rows.append(audit(top / "usual", script, key, every=5, approved=True))
        rows.append(audit(top / "worst", script, key, every=1, approved=False))
    print(table(f"review, {COMMITS:,} commits for the audit", rows))
    return 0


def gate(top: Path, script: str, key: Path, count: int, goal: int) -> Row:
    """A commit that touches 3 of `count` governed files and lacks its approvals, beside the time allowed."""
    paths = corpus.write(top, count)
    _add_policy(top, key)
    _git(top, "init", "-q", "-b", "main")
    _git(top, "add", "-A")
    _git(top, "commit", "-q", "-m", "first")
    for path in (paths[0], paths[count // 2], paths[-1]):
        path.write_text(moved(path.parent.name, path.read_text(), 7))
    _git(top, "add", "-A")
    times = processes({"ours": [script, "review", "gate"]}, rounds=ROUNDS, cwd=top, ok=(1,))
    return Row(f"gate, 3 of {count:,} files", times["ours"], "allowed", goal, 1)


def audit(top: Path, script: str, key: Path, *, every: int, approved: bool) -> Row:
    """One audit of a whole history, beside the 30 s allowed; what it found is checked."""
    made = History(top, key, approved=approved)
    made.write(every)
    log = ["git", "log", "--raw", "-z", "-m", "--no-renames", "--format=%H", "main", "--", "configs"]
    times = processes({"git log": log}, rounds=2, cwd=top)
    start, busy = time.perf_counter(), _busy()
    done = subprocess.run([script, "review", "audit"], cwd=top, capture_output=True, check=False)
    spent, busy = (time.perf_counter() - start) * 1000, (_busy() - busy) * 1000
    expected = 0 if approved else 1
    if done.returncode != expected:
        raise SystemExit(
            f"audit ended with {done.returncode}:\n{(done.stdout + done.stderr).decode()[-2000:]}"
        )
    what = f"{made.changes:,} changes, {made.signed:,} signatures"
    print(
        f"  {top.name}: {what}; {busy:,.0f} ms of processor time; "
        f"git log over the same files {times['git log']:,.0f} ms",
        flush=True,
    )
    return Row(f"audit, {top.name}: {what}", spent, "allowed", 30_000, 1)


class History:
    """A history on its way into `git fast-import`; `changes` and `signed` count what is in it."""

    def __init__(self, top: Path, key: Path, *, approved: bool) -> None:
        self.top, self.key, self.approved = top, key, approved
        self.files = [path.relative_to(top) for path in corpus.write(top, GOVERNED)]
        _add_policy(top, key)
        self.text = {str(path): (top / path).read_text() for path in self.files}
        self.digest = {path: _digest(path, text) for path, text in self.text.items()}
        settings = read_yaml((top / "tierlock.yaml").read_bytes(), "tierlock.yaml").tree
        assert isinstance(settings, dict)
        self.policy = Policy.of(settings)
        self.public = key.with_suffix(".pub").read_text().strip()
        self.changes = self.signed = 0
        self.mark = 0

    def write(self, every: int) -> None:
        """Make the repository: one commit in `every` moves a config, a third of those by a merge."""
        _git(self.top, "init", "-q", "-b", "main")
        plan = list(self._plan(every))
        with ThreadPoolExecutor(4) as pool:
            records = list(pool.map(self._record, plan))
        stream = b"".join(self._stream(plan, records, every))
        subprocess.run(("git", "fast-import", "--quiet"), cwd=self.top, input=stream, check=True)
        _git(self.top, "reset", "-q", "--hard", "main")

    def _plan(self, every: int) -> Iterator[tuple[str, str, Subject]]:
        """Path, new text and subject of each change, in order."""
        random = Random(3)
        for number in range(COMMITS // every * 3 // (4 if every > 1 else 3)):
            path = str(self.files[random.randrange(len(self.files))])
            tier = path.split("/")[1]
            text = moved(tier, self.text[path], number)
            after = _digest(path, text)
            name = f"{tier}/{Path(path).stem}"
            subject = Subject(SubjectKind.CONFIG, name, self.digest[path], after)
            self.text[path], self.digest[path] = text, after
            if subject.before != subject.after:
                self.changes += 1
                yield path, text, subject

    def _record(self, change: tuple[str, str, Subject]) -> Record | None:
        if not self.approved:
            return None
        self.signed += 1
        said = Statement(
            change[2], self.policy.digest, "reviewer-a", "measured", datetime.fromtimestamp(START, UTC)
        )
        payload = statement.payload_of(said)
        made = ssh.sign(statement.signed_bytes(payload), str(self.key))
        return Record(said, payload, (Signature(ssh.fingerprint(self.public), made),))

    def _stream(
        self, plan: list[tuple[str, str, Subject]], records: list[Record | None], every: int
    ) -> Iterator[bytes]:
        first = {str(path): (self.top / path).read_bytes() for path in self.files}
        yield self._commit("main", {**first, "tierlock.yaml": (self.top / "tierlock.yaml").read_bytes()})
        line, done = self.mark, 1
        for number, ((path, text, _), record) in enumerate(zip(plan, records, strict=True)):
            content = {path: text.encode()}
            if record is not None:
                content[record.path] = statement.dump(record)
            by_merge = every > 1 and number % 3 == 0
            yield self._commit("side" if by_merge else "main", content, line)
            done += 1
            if by_merge:
                side = self.mark
                yield self._commit("main", content, line, side)
                done += 1
            line = self.mark
            others = (COMMITS - done) // (len(plan) - number) if number < len(plan) else 0
            for _ in range(others if every > 1 else 0):
                yield self._commit("main", {f"app/{done % 50}.txt": b"%d\n" % done}, line)
                line, done = self.mark, done + 1
                if done * len(plan) >= COMMITS * (number + 1):
                    break

    def _commit(self, branch: str, content: dict[str, bytes], *parents: int) -> bytes:
        self.mark += 1
        who = f"Author A <author-a@example.org> {START + self.mark * 60} +0000"
        head = f"commit refs/heads/{branch}\nmark :{self.mark}\nauthor {who}\ncommitter {who}\ndata 1\nx\n"
        links = [f"{word} :{mark}\n" for word, mark in zip(("from", "merge"), parents, strict=False)]
        parts = [head.encode(), "".join(links).encode()]
        for path, data in content.items():
            parts.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data))
        return b"".join(parts) + b"\n"


def moved(tier: str, text: str, number: int) -> str:
    """The text with one number of it changed."""
    match = re.search(MOVES[tier], text)
    assert match is not None
    value = 1 + (int(match[1]) + 1 + number % 7) % 90
    return f"{text[: match.start(1)]}{value}{text[match.end(1) :]}"


def _busy() -> float:
    """Processor time of all finished children, in seconds: on a busy machine it says more than the clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _git(top: Path, *args: str) -> None:
    who = ("-c", "user.name=Author A", "-c", "user.email=author-a@example.org")
    subprocess.run(("git", *who, *args), cwd=top, check=True)


def _digest(path: str, text: str) -> str:
    config, findings = load_config(MemoryTree({path: text.encode()}), ConfigId.parse(path))
    assert config is not None, findings
    return config_digest(config)


def _add_policy(top: Path, key: Path) -> None:
    file = top / "tierlock.yaml"
    file.write_text(file.read_text() + REVIEW.format(key=key.with_suffix(".pub").read_text().strip()))


if __name__ == "__main__":
    sys.exit(main())
