"""The hub cache on disk and a hub over HTTP: which commit a name stands for, or that nobody knows."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from governance.adapters.hubs import Snapshot, cache_folder, commit_of, resolve, snapshot
from governance.errors import Unreachable, Unreadable
from governance.values import Unknown

ONE, TWO = "1" * 40, "2" * 40


def cache(tmp_path: Path) -> Path:
    folder = tmp_path / "models--acme--tern"
    (folder / "refs" / "pr").mkdir(parents=True)
    (folder / "refs" / "main").write_text(ONE + "\n")
    (folder / "refs" / "pr" / "5").write_text(ONE)
    (folder / "refs" / "odd").write_text("not a commit")
    (folder / "snapshots" / ONE).mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize("revision", ["main", "pr/5", ONE])
def test_a_name_and_a_commit_lead_to_one_snapshot(tmp_path: Path, revision: str) -> None:
    found = snapshot(cache(tmp_path), "acme/tern", revision)
    assert found == Snapshot(tmp_path / "models--acme--tern" / "snapshots" / ONE, ONE)
    assert isinstance(found, Snapshot)
    assert commit_of(found.folder) == ONE


@pytest.mark.parametrize(
    ("model", "revision", "reason"),
    [
        ("acme/other", "main", "is not in the cache"),
        ("acme/tern", "v2", "does not know which commit"),
        ("acme/tern", "odd", "holds no commit"),
        ("acme/tern", TWO, "is not in the cache"),
        ("acme/tern", "../../x", "is not the name of a revision"),
    ],
)
def test_what_is_not_in_the_cache_is_unknown(tmp_path: Path, model: str, revision: str, reason: str) -> None:
    found = snapshot(cache(tmp_path), model, revision)
    assert isinstance(found, Unknown)
    assert reason in found.reason


def test_a_folder_outside_of_a_cache_has_no_commit(tmp_path: Path) -> None:
    assert commit_of(tmp_path / ONE) == ""
    assert commit_of(tmp_path / "snapshots" / "main") == ""


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"HF_HUB_CACHE": "/a", "HF_HOME": "/b"}, "/a"),
        ({"HUGGINGFACE_HUB_CACHE": "/c"}, "/c"),
        ({"HF_HOME": "/b"}, "/b/hub"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/huggingface/hub"),
        ({"HOME": "/h"}, "/h/.cache/huggingface/hub"),
    ],
)
def test_the_cache_is_where_the_library_puts_it(environment: dict[str, str], folder: str) -> None:
    assert str(cache_folder(environment)) == folder


@contextmanager
def hub(answers: dict[str, tuple[int, bytes]], seen: list[tuple[str, str]]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            seen.append((self.path, self.headers.get("Authorization", "")))
            code, body = answers.get(self.path, (404, b"{}"))
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_hub_says_which_commit_a_name_is_now() -> None:
    seen: list[tuple[str, str]] = []
    path = "/api/models/acme/tern/revision/refs%2Fpr%2F5"
    with hub({path: (200, json.dumps({"sha": ONE}).encode())}, seen) as address:
        assert resolve("acme/tern", "refs/pr/5", hub=address, token="tt") == ONE
    assert seen == [(path, "Bearer tt")]


@pytest.mark.parametrize("body", [b"{}", b'{"sha": "main"}', b'{"sha": null}'])
def test_an_answer_without_a_commit_is_unknown(body: bytes) -> None:
    with hub({"/api/models/a/b/revision/main": (200, body)}, []) as address:
        assert isinstance(resolve("a/b", "main", hub=address), Unknown)


def test_a_revision_the_hub_does_not_have_is_unknown_and_not_an_outage() -> None:
    """A pinned commit that is gone must be told apart from a hub that is down (A08)."""
    with hub({}, []) as address:
        found = resolve("a/b", TWO, hub=address)
    assert isinstance(found, Unknown)
    assert "has no" in found.reason


@pytest.mark.parametrize("answer", [(500, b""), (200, b"<html>"), (200, b"[]")])
def test_a_hub_that_fails_is_unreachable(answer: tuple[int, bytes]) -> None:
    with hub({"/api/models/a/b/revision/main": answer}, []) as address, pytest.raises(Unreachable):
        resolve("a/b", "main", hub=address, token="secret-of-the-test")


def test_a_hub_that_is_down_is_unreachable_and_the_token_is_not_told() -> None:
    with pytest.raises(Unreachable) as caught:
        resolve("a/b", "main", hub="http://127.0.0.1:1", token="secret-of-the-test")
    assert "secret-of-the-test" not in f"{caught.value} {caught.value.hint}"


def test_an_address_that_is_no_hub_is_refused() -> None:
    with pytest.raises(Unreadable):
        resolve("a/b", "main", hub="file:///etc")
