"""A real Review Board on a port of this host, with a git repository, people and review requests.

- Lives in `.venv-reviewboard` (scripts/reviewboard_environment.sh) and a folder of the test.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv-reviewboard"
ADMIN = "admin"
_BOUNDARY = "tierlock-of-the-test"


def missing() -> str:
    """Why there is no server to start; empty when there is one."""
    if (VENV / "bin" / "rb-site").exists():
        return ""
    return "Review Board is not installed: scripts/reviewboard_environment.sh"


@dataclass(frozen=True)
class ReviewBoard:
    """A running server. `call` speaks as one person with the password of the test."""

    url: str

    def call(self, who: str, method: str, place: str, /, **fields: Any) -> Any:
        """What the API answers, as JSON. A value of bytes is sent as a file."""
        body, kind = _form(fields)
        request = urllib.request.Request(f"{self.url}/api/{place}", data=body or None, method=method)
        login = base64.b64encode(f"{who}:{who}".encode()).decode()
        request.add_header("Authorization", f"Basic {login}")
        if body:
            request.add_header("Content-Type", kind)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
        except urllib.error.HTTPError as err:
            raise AssertionError(f"{method} {place}: {err.code} {err.read()[:400]!r}") from err
        return json.loads(text) if text else {}

    def person(self, name: str) -> int:
        """A new user whose password is the name; the numeric id."""
        made = self.call(ADMIN, "POST", "users/", username=name, password=name, email=f"{name}@example.org")
        return int(made["user"]["id"])

    def token(self, who: str) -> str:
        """A new API token of a person."""
        made = self.call(who, "POST", f"users/{who}/api-tokens/", note="test", policy="{}")
        return str(made["api_token"]["token"])

    def repository(self, folder: Path) -> int:
        """A git repository that requests can be about; the numeric id."""
        made = self.call(ADMIN, "POST", "repositories/", name="configs", path=f"{folder}/.git", tool="Git")
        return int(made["repository"]["id"])

    def request(self, who: str, repository: int, commits: Mapping[str, Any]) -> int:
        """A published review request by `who`, with its commits as one diff; the number."""
        made = self.call(
            who, "POST", "review-requests/", repository=repository, create_with_history="1"
        )["review_request"]  # fmt: skip
        number = int(made["id"])
        self.diff(who, repository, number, commits)
        return number

    def diff(self, who: str, repository: int, number: int, commits: Mapping[str, Any]) -> None:
        """A new diff of a request, published."""
        self.upload(who, repository, number, commits)
        self.publish(who, number)

    def upload(self, who: str, repository: int, number: int, commits: Mapping[str, Any]) -> None:
        """A new diff of a request, as a draft that nobody else sees."""
        top = f"review-requests/{number}"
        made = self.call(who, "POST", f"{top}/diffs/", base_commit_id=commits["base"])["diff"]
        at = f"{top}/draft/diffs/{made['revision']}"
        seen = ""
        for one in commits["commits"]:
            people = {
                f"{role}_{part}": value
                for role in ("author", "committer")
                for part, value in (
                    ("name", "Author A"), ("email", "author-a@example.org"), ("date", "2026-11-02T09:00:00Z"),
                )
            }  # fmt: skip
            named = {"commit_id": one["id"], "parent_id": one["parent"], "diff": one["diff"]}
            named |= {"validation_info": seen} if seen else {}
            self.call(who, "POST", f"{at}/draft-commits/", commit_message="change", **named, **people)
            checked = self.call(
                who, "POST", "validation/commits/", repository=repository,
                base_commit_id=commits["base"], **named,
            )  # fmt: skip
            seen = checked["commit_validation"]["validation_info"]
        self.call(
            who,
            "PUT",
            f"{at}/",
            finalize_commit_series="1",
            validation_info=seen,
            cumulative_diff=commits["diff"],
        )

    def publish(self, who: str, number: int) -> None:
        """Show the draft of a request to everybody."""
        self.call(
            who, "PUT", f"review-requests/{number}/draft/", public="1", summary="a change",
            description="a change", target_people="reviewer-a",
        )  # fmt: skip

    def ship_it(self, who: str, number: int) -> int:
        """A published review that ships it; its id."""
        made = self.call(who, "POST", f"review-requests/{number}/reviews/", ship_it="1", public="1",
                         body_top="measured")  # fmt: skip
        return int(made["review"]["id"])


@contextmanager
def started(folder: Path) -> Iterator[ReviewBoard]:
    """A new site in `folder`, served on a free port, stopped at the end."""
    site, port = folder / "site", _free_port()
    _install(folder, site)
    settings = site / "conf" / "settings_local.py"
    settings.write_text(settings.read_text() + "\nSESSION_COOKIE_SECURE = False\n")
    serve = (
        "import sys\n"
        f"sys.path.insert(0, {str(site / 'conf')!r})\n"
        "from waitress import serve\n"
        "from reviewboard.wsgi import application\n"
        f"serve(application, host='127.0.0.1', port={port}, threads=4)\n"
    )
    environment = {**_environment(), "REVIEWBOARD_SITEDIR": str(site), "HOME": str(site / "data")}
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            (VENV / "bin" / "python", "-c", serve), cwd=site, env=environment, stdout=log, stderr=log
        ) as running,
    ):
        try:
            _wait(port, running, folder / "log")
            yield ReviewBoard(f"http://127.0.0.1:{port}")
        finally:
            running.terminate()


def _install(folder: Path, site: Path) -> None:
    options = {
        "company": "test", "allowed-host": "127.0.0.1", "web-server-port": "80",
        "sitelist": str(folder / "sites"), "secret-key": "0123456789" * 6, "domain-name": "127.0.0.1",
        "site-root": "/", "static-url": "static/", "media-url": "media/", "db-type": "sqlite3",
        "db-name": str(site / "data" / "rb.db"), "admin-user": ADMIN, "admin-password": ADMIN,
        "admin-email": "admin@example.org", "cache-type": "file", "cache-info": str(folder / "cache"),
        "web-server-type": "apache",
    }  # fmt: skip
    argv = [str(VENV / "bin" / "rb-site"), "install", "--noinput", "--copy-media", "--opt-out-support-data"]
    argv += [f"--{name}={value}" for name, value in options.items()]
    done = subprocess.run([*argv, str(site)], capture_output=True, env=_environment(), check=False)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()[-2000:]


def _environment() -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON"))}
    return {**plain, "VIRTUAL_ENV": str(VENV), "PATH": f"{VENV / 'bin'}:{plain.get('PATH', '')}"}


def _wait(port: int, running: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        assert running.poll() is None, log.read_text()[-2000:]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/info/", timeout=30):
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text()[-2000:])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _form(fields: Mapping[str, Any]) -> tuple[bytes, str]:
    if not any(isinstance(value, bytes) for value in fields.values()):
        return urllib.parse.urlencode(fields).encode(), "application/x-www-form-urlencoded"
    parts = []
    for name, value in fields.items():
        more = (
            f'; filename="{name}"\r\nContent-Type: application/octet-stream'
            if isinstance(value, bytes)
            else ""
        )
        head = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'
        parts.append(head.encode() + (value if isinstance(value, bytes) else str(value).encode()) + b"\r\n")
    return b"".join(parts) + f"--{_BOUNDARY}--\r\n".encode(), f"multipart/form-data; boundary={_BOUNDARY}"
