"""A word on the command line means one thing, or is refused with everything it could mean."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from governance.errors import IncompleteHistory, Unreachable, Unreadable, Usage
from governance.release.sides import CaptureSide, EndpointSide, FileSide, Place, StateSide, parse_side
from tests.support.governed import FILES, governed, place, release
from tests.support.repos import Repo, isolated


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = governed(tmp_path / "repo")
    release(
        made, "v2", {"configs/sampling/factual.yaml": FILES["configs/sampling/factual.yaml"] + "seed: 1\n"}
    )
    return made


def test_states_are_named_by_word_or_revision(repo: Repo) -> None:
    at = place(repo)
    for text, label, revision in (
        ("worktree", "work tree", ""),
        ("index", "index", ""),
        ("v1", "v1", "v1"),
        ("HEAD~1", "HEAD~1", "HEAD~1"),
    ):
        side = parse_side(text, at)
        assert isinstance(side, StateSide)
        assert (side.label, side.revision, side.service) == (label, revision, "")


def test_a_service_is_named_alone_or_at_a_revision(repo: Repo) -> None:
    at = place(repo)
    alone, then, now = (parse_side(f"summarizer{rev}", at) for rev in ("", "@v1", "@worktree"))
    assert isinstance(alone, StateSide)
    assert isinstance(then, StateSide)
    assert isinstance(now, StateSide)
    assert {side.service for side in (alone, then, now)} == {"summarizer"}
    assert (then.label, then.revision, now.label) == ("v1", "v1", "work tree")
    assert then.state is not now.state


def test_a_reflog_name_is_a_revision_and_no_service(repo: Repo) -> None:
    side = parse_side("HEAD@{0}", place(repo))
    assert isinstance(side, StateSide)
    assert side.service == ""


def test_a_path_is_a_file_and_a_path_at_a_revision_too(repo: Repo) -> None:
    at = place(repo)
    now = parse_side("configs/sampling/factual.yaml", at)
    then = parse_side("v1:configs/sampling/factual.yaml", at)
    assert isinstance(now, FileSide)
    assert isinstance(then, FileSide)
    assert now.data == then.data + b"seed: 1\n"
    prompts = parse_side("v1:configs/prompts/summarize.yaml", at)
    assert isinstance(prompts, FileSide)
    assert prompts.beside("summarize/system.md").startswith(b"You answer")


def test_a_capture_and_a_list_of_packages_are_captures(repo: Repo) -> None:
    record = {
        "schema": "tierlock.capture/1",
        "scheme": "tl1-sha256",
        "tool": "t",
        "generated_at": "",
        "layers": {},
    }
    repo.write({"host.json": json.dumps(record), "requirements.txt": "torch==2.6.0\n"})
    at = place(repo)
    assert isinstance(parse_side("host.json", at), CaptureSide)
    assert isinstance(parse_side("requirements.txt", at), CaptureSide)


def test_an_address_is_an_endpoint_and_asks_nobody_yet(repo: Repo) -> None:
    side = parse_side("http://127.0.0.1:9/v1", place(repo))
    assert isinstance(side, EndpointSide)
    assert side.url == "http://127.0.0.1:9/v1"


def test_a_service_names_its_own_endpoint(repo: Repo) -> None:
    at = place(repo)
    with pytest.raises(Usage, match="names no endpoint"):
        parse_side("summarizer@live", at)
    repo.write(
        {
            "tierlock.yaml": FILES["tierlock.yaml"].replace(
                "summarize}", 'summarize, endpoint: {url: "http://h:1/v1"}}'
            )
        }
    )
    side = parse_side("summarizer@live", place(repo))
    assert isinstance(side, EndpointSide)
    assert side.url == "http://h:1/v1"


def test_a_service_is_asked_with_its_own_key(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Like every other request of the service: a server behind a key answers nobody without it."""
    asked: list[str] = []

    class Guarded(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers.get("Authorization", ""))
            self.send_response(401)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Guarded) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        endpoint = f'{{url: "http://127.0.0.1:{server.server_port}/v1", api_key: "env:KEY_OF_THIS_TEST"}}'
        bound = FILES["tierlock.yaml"].replace("summarize}", f"summarize, endpoint: {endpoint}}}")
        repo.write({"tierlock.yaml": bound})
        with pytest.raises(Unreadable, match="KEY_OF_THIS_TEST"):
            parse_side("summarizer@live", place(repo))
        monkeypatch.setenv("KEY_OF_THIS_TEST", "s3cret-value")
        side = parse_side("summarizer@live", place(repo))
        assert isinstance(side, EndpointSide)
        with pytest.raises(Unreachable):
            side.look("", "")
        server.shutdown()
    assert set(asked) == {"Bearer s3cret-value"}


def test_a_word_with_two_readings_is_refused_with_both(repo: Repo) -> None:
    repo.git("branch", "summarizer")
    repo.write({"v1": "a file\n"})
    at = place(repo)
    with pytest.raises(Usage) as caught:
        parse_side("summarizer", at)
    assert caught.value.message == (
        "`summarizer` is ambiguous: the revision summarizer^0, the service summarizer@worktree"
    )
    with pytest.raises(Usage, match=r"the file \./v1, the revision v1\^0"):
        parse_side("v1", at)
    for text in ("summarizer^0", "summarizer@worktree", "v1^0", "./v1"):
        parse_side(text, at)


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("sumarizer", "no file, revision or service", "did you mean `summarizer`?"),
        ("v11", "no file, revision or service", "did you mean `v1`?"),
        ("nothing/like/it", "no file, revision or service", "services: summarizer"),
        ("sumarizer@v1", "no service `sumarizer`", "did you mean `summarizer`?"),
        ("other@v1", "no service `other`", "there are: summarizer"),
        ("", "no file, revision or service", ""),
        ("-x", "no file, revision or service", ""),
    ],
)
def test_a_word_that_means_nothing_is_told_what_there_is(repo: Repo, text: str, said: str, hint: str) -> None:
    with pytest.raises(Usage, match=said) as caught:
        parse_side(text, place(repo))
    assert hint in caught.value.hint


def test_a_revision_that_is_not_there_is_told_as_such(repo: Repo) -> None:
    with pytest.raises(Unreadable, match="`v9` is not a revision"):
        parse_side("summarizer@v9", place(repo))
    with pytest.raises(Unreadable, match="nope"):
        parse_side("v1:nope.yaml", place(repo))


def test_in_a_shallow_clone_a_missing_revision_says_how_to_get_it(repo: Repo, tmp_path: Path) -> None:
    repo.git("clone", "-q", "--depth", "1", repo.path.as_uri(), str(tmp_path / "shallow"))
    with pytest.raises(IncompleteHistory) as caught:
        parse_side("v1", place(Repo(tmp_path / "shallow")))
    assert caught.value.hint.startswith("git fetch --unshallow")


def test_without_git_files_and_services_still_mean_something(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    at = Place(tmp_path, here=tmp_path, environ=isolated())
    assert isinstance(parse_side("tierlock.yaml", at), FileSide)
    assert isinstance(parse_side("summarizer", at), StateSide)
    with pytest.raises(Usage, match="no file, revision or service"):
        parse_side("HEAD", at)
    with pytest.raises(Unreadable, match="needs a git repository"):
        parse_side("summarizer@HEAD", at)


def test_a_governed_folder_inside_a_larger_repository_has_its_own_root(tmp_path: Path) -> None:
    repo = governed(tmp_path / "repo")
    repo.commit("mono", {f"team/{name}": text for name, text in FILES.items()})
    inner = Place(repo.path / "team", here=repo.path / "team", environ=isolated())
    side = parse_side("HEAD:configs/sampling/factual.yaml", inner)
    assert isinstance(side, FileSide)
    assert isinstance(parse_side("summarizer@HEAD", inner), StateSide)
