"""The comment on a pull request: one, kept up to date, over HTTP to a server that answers as GitHub does."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.ci.conftest import ROOT

SCRIPT = ROOT / "ci" / "github" / "comment.py"
MARK = "<!-- tierlock review -->"


class Comments(ThreadingHTTPServer):
    """The comments of one pull request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.kept: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def add(self, body: str, kind: str) -> None:
        number = len(self.kept)
        self.kept.append({"url": f"{self.url}/comments/{number}", "body": body, "user": {"type": kind}})


class Answers(BaseHTTPRequestHandler):
    server: Comments

    def do_GET(self) -> None:
        page = int(self.path.rpartition("=")[2]) - 1
        self.answer(self.server.kept[page * 100 : page * 100 + 100])

    def do_POST(self) -> None:
        assert self.path == "/repos/o/r/issues/7/comments"
        self.server.add(self.given()["body"], "Bot")
        self.answer({})

    def do_PATCH(self) -> None:
        self.server.kept[int(self.path.rpartition("/")[2])]["body"] = self.given()["body"]
        self.answer({})

    def given(self) -> Any:
        assert self.headers["Authorization"] == "Bearer secret-token"
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, tree: Any) -> None:
        data = json.dumps(tree).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def comments() -> Iterator[Comments]:
    with Comments() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def comment(comments: Comments, folder: Path, text: str, event: dict[str, Any] | None = None) -> str:
    """Run the script; what it said on standard error."""
    report, payload = folder / "review.md", folder / "event.json"
    report.write_text(text)
    payload.write_text(json.dumps({"pull_request": {"number": 7}} if event is None else event))
    environment = {
        "GITHUB_EVENT_PATH": str(payload),
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_API_URL": comments.url,
        "GITHUB_TOKEN": "secret-token",
    }
    argv = (sys.executable, "-I", SCRIPT, report, folder / "none.md")
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_the_second_run_edits_what_the_first_wrote(comments: Comments, tmp_path: Path) -> None:
    comments.add("a word", "User")
    comment(comments, tmp_path, "### block\n")
    comment(comments, tmp_path, "### pass\n")
    assert [one["body"] for one in comments.kept] == ["a word", f"{MARK}\n### pass\n"]


def test_a_comment_of_a_person_is_never_edited_and_the_search_goes_on(
    comments: Comments, tmp_path: Path
) -> None:
    for _ in range(120):
        comments.add(f"{MARK}\nnot yours", "User")
    comments.add(f"{MARK}\nold", "Bot")
    comment(comments, tmp_path, "new\n")
    assert len(comments.kept) == 121
    assert {one["body"] for one in comments.kept[:120]} == {f"{MARK}\nnot yours"}
    assert comments.kept[120]["body"] == f"{MARK}\nnew\n"


def test_a_long_report_is_cut_at_a_line_and_says_so(comments: Comments, tmp_path: Path) -> None:
    """GitHub refuses a comment of more than 65,536 characters."""
    comment(comments, tmp_path, "0123456789\n" * 9_000)
    body = comments.kept[0]["body"]
    assert len(body) <= 65_536
    assert body.endswith("0123456789\n\n… the rest is in the summary of the job.\n")


def test_a_run_without_a_pull_request_writes_nothing(comments: Comments, tmp_path: Path) -> None:
    comment(comments, tmp_path, "x", event={"ref": "refs/heads/main"})
    assert comments.kept == []
