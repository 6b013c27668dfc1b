"""A governed repository with a review policy, and a team whose people sign with real SSH keys."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from governance.adapters import ssh
from governance.adapters.files import WorkTree, write_all
from governance.cli.review.judging import bench
from governance.review import approving, landings
from governance.review.approving import Signer, Terms
from governance.review.gate import Bench
from governance.review.landings import Where
from tests.support.governed import FILES
from tests.support.repos import Repo, isolated, make_repo

PEOPLE = ("author-a", "reviewer-a", "reviewer-b", "outsider-a")
SAMPLING = "configs/sampling/factual.yaml"
PROMPT = "configs/prompts/summarize/system.md"
NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)
"""When every commit of the tests is made (`repos.isolated`)."""


@cache
def key_of(person: str) -> Path:
    """The private key of a person, made once per test run."""
    file = Path(mkdtemp(prefix="tierlock-keys-")) / person
    subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file), check=True)
    return file


def public_key(person: str) -> str:
    """The public key of a person, as a line of the policy."""
    return key_of(person).with_suffix(".pub").read_text().strip()


def policy(**more: str) -> str:
    """A `review` section: sampling and prompts need one of the platform people, base needs two."""
    people = "\n".join(
        f'    {name}: {{keys: ["{public_key(name)}"], emails: [{name}@example.org]}}'
        for name in PEOPLE
        if name != "outsider-a"
    )
    lines = {
        "base": "{approvals: 2, from: [platform]}",
        "sampling": "{approvals: 1, from: [platform]}",
        "prompts": "{approvals: 1, from: [platform]}",
        "policy": "{approvals: 1, from: [platform]}",
        "protected": '[main, "release/*"]',
        "break_glass": "{from: [platform], max_hours: 4, follow_up_days: 3}",
        **more,
    }
    rest = "".join(f"  {name}: {value}\n" for name, value in lines.items())
    return f"review:\n  people:\n{people}\n  roles: {{platform: [author-a, reviewer-a, reviewer-b]}}\n{rest}"


def files(**more: str) -> dict[str, str]:
    """The files of a governed repository with a policy; `more` goes into the policy."""
    return {**FILES, "tierlock.yaml": FILES["tierlock.yaml"] + policy(**more)}


@dataclass
class Reviewed(Repo):
    """A repository on which people approve; `root` is where the governed files are."""

    def change(self, path: str, before: str, after: str) -> None:
        """Replace one piece of a file; it must be there."""
        file = self.path / path
        text = file.read_text()
        assert before in text, text
        file.write_text(text.replace(before, after))

    def hotter(self, value: float, path: str = SAMPLING) -> None:
        """Set the temperature."""
        file = self.path / path
        lines = file.read_text().splitlines()
        file.write_text(
            "\n".join(f"temperature: {value}" if line.startswith("temperature:") else line for line in lines)
            + "\n"
        )

    @property
    def where(self) -> Where:
        return Where(self.neighbour())

    def approve(
        self,
        person: str = "reviewer-a",
        *,
        commit: str = "",
        between: str = "",
        names: Sequence[str] = (),
        emergency: bool = False,
        now: datetime = NOW,
    ) -> tuple[str, ...]:
        """Write the approvals by `person` of what is staged, of a commit or of a range; their paths."""
        where, key = self.where, public_key(person)
        with (
            landings.of_range(where, between)
            if between
            else nullcontext(landings.of_commit(where, commit) if commit else landings.of_index(where))
        ) as landing:
            plan = approving.plan(landing, WorkTree(self.path), names)
            sign = Signer(
                person, ssh.fingerprint(key), lambda data: ssh.sign(data, str(key_of(person))), ssh.verify
            )
            until = now + timedelta(hours=4) if emergency else None
            done = approving.approve(plan, sign, Terms("measured", now, until, emergency))
        assert done.files, done.report
        write_all(self.path, done.files)
        return tuple(done.files)


def at(now: datetime = NOW) -> Bench:
    """The bench of the command line at another time."""
    real = bench()
    return Bench(now, real.judge, real.read)


def reviewed(path: Path, more: Mapping[str, str | bytes] | None = None, **policy_parts: str) -> Reviewed:
    """A repository whose first commit has the policy."""
    repo = make_repo(path, files={**files(**policy_parts), **(more or {})})
    return Reviewed(repo.path, isolated())
