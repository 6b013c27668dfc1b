"""`tierlock eval run` as a user has it: exit codes, results that go on after a kill, evidence kept."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from governance.adapters.files import WorkTree
from governance.evals.evidence import filed_for
from governance.evals.results import load_run
from governance.values import Json
from governance.verdict import Outcome
from tests.support import evals
from tests.support.command import PROGRAM, Ran, Tierlock, environment
from tests.support.completions_server import CompletionsServer, Replies, Say, serving
from tests.support.llama_server import BASE, LlamaServer
from tests.support.repos import Repo, isolated

FAILING = 3


class Eval:
    """The command in a repository whose endpoint is a server of the test."""

    def __init__(self, tierlock: Tierlock, repo: Repo, server: CompletionsServer) -> None:
        self.tierlock, self.repo, self.server = tierlock, repo, server

    def run(self, *args: str, observed: bool = False) -> Ran:
        more = () if observed else ("--unobserved",)
        return self.tierlock.run("eval", "run", evals.NAME, *more, *args, cwd=self.repo.path)

    def results(self) -> list[Path]:
        return sorted((self.repo.path / ".git/tierlock/helper/evals").glob("*.jsonl"))


@pytest.fixture
def asking(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., AbstractContextManager[Eval]]:
    """`with asking(replies) as eval:` the command, its repository, and the server it asks."""
    for name, value in isolated().items():
        if name.startswith("GIT_"):
            monkeypatch.setenv(name, value)

    @contextmanager
    def made(replies: Replies = evals.right, **given: Any) -> Iterator[Eval]:
        with serving(replies) as server:
            repo = evals.repository(tmp_path / "repo", evals.files(server.url, **given))
            yield Eval(Tierlock(repo.path, capsys, monkeypatch), repo, server)

    return made


Asking = Callable[..., AbstractContextManager[Eval]]


def one_wrong(number: int, body: Mapping[str, Any]) -> Say:
    return Say("SECRET ANSWER") if evals.asked(body) == FAILING else evals.right(number, body)


def down(number: int, body: Mapping[str, Any]) -> Say:
    return Say(status=500, body={"error": {"message": "CUDA error"}})


def test_a_smoke_suite_that_passes_is_exit_0_and_says_where_the_results_are(asking: Asking) -> None:
    with asking() as eval_:
        said = eval_.run()
        (results,) = eval_.results()
    assert said.code == 0, said
    assert "10 of 10 items answered" in said.out
    assert said.out.rstrip().endswith("PASS  10 of 10 items right")
    assert f"results: {results.relative_to(eval_.repo.path)}" in said.out
    assert eval_.repo.git("status", "--porcelain") == ""
    run = load_run(results.read_bytes(), "r")
    assert run.complete
    assert all(result.request["seed"] == 42 for result in run.results)


def test_a_failing_item_is_exit_1_and_named_with_its_line_and_no_content(asking: Asking) -> None:
    with asking(one_wrong) as eval_:
        said = eval_.run()
        shown = eval_.run("--show-content")
    assert said.code == 1
    assert "evals/smoke.jsonl:4  TL720  the answer to `q3` fails `exact`" in said.out
    assert "SECRET ANSWER" not in said.out
    assert "BLOCK  9 of 10 right, failing: q3" in said.out
    assert "next    tierlock eval run helper --suite smoke --show-content" in said.out
    assert "SECRET ANSWER" in shown.out


UNDECIDED: dict[str, tuple[Replies, str]] = {
    "an outage": (down, "none of 10 items was answered, 10 failed (HTTP 500: CUDA error)"),
    "half an outage": (
        lambda number, body: down(number, body) if evals.asked(body) % 2 else evals.right(number, body),
        "5 of 10 items answered, coverage 0.500",
    ),
    "a model that is not there": (
        lambda number, body: Say(status=404, body={"error": {"message": "The model `x` does not exist."}}),
        "10 refused (HTTP 404: The model `x` does not exist.)",
    ),
    "streams that are cut": (lambda number, body: Say("a b c", cut=1), "10 broken (the connection ended"),
    "two servers behind one address": (
        lambda number, body: Say(f"answer {evals.asked(body)}", fingerprint=f"fp_{evals.asked(body) % 2}"),
        "a mixture: the answers come from 2 servers",
    ),
}


@pytest.mark.parametrize("case", UNDECIDED)
def test_what_cannot_be_judged_is_exit_3_with_the_reason(asking: Asking, case: str) -> None:
    replies, reason = UNDECIDED[case]
    with asking(replies) as eval_:
        said = eval_.run()
    assert said.code == 3, said
    assert reason in " ".join(said.out.split())


def test_a_slow_server_is_exit_3(asking: Asking) -> None:
    with asking(lambda number, body: Say("late", after=0.9), items=2) as eval_:
        path = eval_.repo.path / "tierlock.yaml"
        path.write_text(path.read_text().replace("timeout_s: 5", "timeout_s: 0.2"))
        said = eval_.run()
    assert said.code == 3
    assert "2 timed out (no whole answer within 0.2 s)" in said.out


def test_nobody_at_the_address_is_exit_3(asking: Asking) -> None:
    with asking(items=2) as eval_:
        said = eval_.run("--url", "http://127.0.0.1:9/v1")
    assert said.code == 3
    assert "2 unreachable (connection refused)" in said.out


def test_an_empty_suite_is_exit_3(asking: Asking) -> None:
    with asking(items=0) as eval_:
        said = eval_.run()
    assert said.code == 3
    assert "no items" in said.err
    assert eval_.results() == []


def test_a_server_that_is_no_known_engine_is_exit_3_unless_it_is_not_looked_at(asking: Asking) -> None:
    with asking() as eval_:
        said = eval_.run(observed=True)
    assert said.code == 3
    assert "it is no engine tierlock knows" in " ".join(said.out.split())


MISTAKES: dict[str, tuple[list[str], int, str]] = {
    "a service that is not there": (["eval", "run", "helpr"], 2, "did you mean `helper`?"),
    "a suite that is not there": (["eval", "run", "helper", "--suite", "smok"], 3, "smok"),
    "evidence of a part": (["eval", "run", "helper", "--record", "--limit", "2"], 2, "leave --limit out"),
    "a revision that is not there": (["eval", "run", "helper", "--at", "v9"], 3, "v9"),
    "a run that is not there": (["eval", "run", "helper", "--against", "v9"], 2, "tierlock release list"),
    "nothing to go on with": (["eval", "run", "helper", "--resume"], 2, "no broken run"),
    "an address that is none": (
        ["eval", "run", "helper", "--url", "127.0.0.1"],
        2,
        "http://127.0.0.1:8080/v1",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_on_the_command_line_is_told_with_its_remedy(asking: Asking, case: str) -> None:
    argv, code, told = MISTAKES[case]
    with asking() as eval_:
        said = eval_.tierlock.run(*argv, cwd=eval_.repo.path)
        asked = len(eval_.server.asked)
    assert (said.code, asked) == (code, 0), said
    assert told in said.err
    assert "Traceback" not in said.err


def test_a_service_without_a_smoke_suite_asks_for_one(asking: Asking) -> None:
    with asking(service={"evals": {"full": "smoke"}}) as eval_:
        said = eval_.run()
    assert said.code == 2
    assert "add `evals: {smoke: NAME}`" in said.err


def test_a_config_that_does_not_load_is_exit_3(asking: Asking) -> None:
    with asking() as eval_:
        (eval_.repo.path / "configs/sampling/factual.yaml").write_text("kind: sampling\ntempurature: 1\n")
        said = eval_.run()
    assert said.code == 3
    assert "tempurature" in said.err


def test_a_part_of_a_suite_gives_no_verdict(asking: Asking) -> None:
    with asking() as eval_:
        said = eval_.run("--limit", "2")
    assert said.code == 3
    assert "no verdict on the suite" in said.out
    assert "2 of 2 items answered" in said.out


def test_results_replace_no_file(asking: Asking) -> None:
    with asking(items=2) as eval_:
        (eval_.repo.path / "mine.jsonl").write_text("mine\n")
        said = eval_.run("--out", "mine.jsonl")
    assert said.code == 2
    assert "is there already" in said.err
    assert (eval_.repo.path / "mine.jsonl").read_text() == "mine\n"


def test_a_broken_run_is_gone_on_with(asking: Asking) -> None:
    broken = [True]

    def mended(number: int, body: Mapping[str, Any]) -> Say:
        return down(number, body) if broken[0] and evals.asked(body) > 6 else evals.right(number, body)

    with asking(mended) as eval_:
        first = eval_.run()
        broken[0] = False
        before = len(eval_.server.asked)
        second = eval_.run("--resume")
        asked = len(eval_.server.asked) - before
        third = eval_.run("--resume")
    assert (first.code, second.code) == (3, 0), second
    assert "tierlock eval run helper --suite smoke --resume" in first.out
    assert asked == 3
    assert "3 tried again: q7, q8, q9" in second.out
    assert len(eval_.results()) == 1
    assert (third.code, "no broken run" in third.err) == (2, True)


def test_results_of_other_configs_are_not_gone_on_with(asking: Asking) -> None:
    with asking(items=2) as eval_:
        eval_.run("--out", "r.jsonl")
        path = eval_.repo.path / "configs/sampling/factual.yaml"
        path.write_text(path.read_text().replace("seed: 42", "seed: 43"))
        said = eval_.run("--out", "r.jsonl", "--resume")
    assert said.code == 3
    assert "of another run: their fingerprint" in said.err


def test_an_interrupted_run_keeps_its_results_and_says_how_to_go_on(asking: Asking) -> None:
    arrived = threading.Event()

    def slow(number: int, body: Mapping[str, Any]) -> Say:
        if evals.asked(body) < 4:
            return evals.right(number, body)
        arrived.set()
        return Say("late", after=2.0)

    with asking(slow) as eval_:
        process = subprocess.Popen(
            [*PROGRAM, "eval", "run", "helper", "--unobserved", "--out", "r.jsonl"],
            cwd=eval_.repo.path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert arrived.wait(60)
        path = eval_.repo.path / "r.jsonl"
        while path.read_bytes().count(b"\n") < 3:
            pass
        os.kill(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode in (130, -signal.SIGINT)
        assert b"the results so far are in r.jsonl" in err
        assert b"go on: tierlock eval run helper --suite smoke" in err
        kept = load_run(path.read_bytes(), "r")
        assert not kept.complete
        assert all(result.score.passed for result in kept.results)
        eval_.server.asked.clear()


def test_evidence_and_results_are_kept_in_the_repository(asking: Asking) -> None:
    with asking() as eval_:
        said = eval_.run("--record")
        again = eval_.run("--record")
        third = eval_.run("--record")
        root = eval_.repo.path
    assert (said.code, again.code, third.code) == (0, 0, 0)
    run = load_run(eval_.results()[0].read_bytes(), "r")
    filed = filed_for(WorkTree(root), "helper", run.fingerprint, run.suite_digest)
    assert len(filed) == 3
    for one in filed:
        evidence = one.evidence
        rows = (root / evidence.results).read_bytes()
        assert hashlib.sha256(rows).hexdigest() == evidence.results_digest
        assert (evidence.kind, evidence.outcome, evidence.passed) == ("smoke", Outcome.PASS, 10)
        assert len(load_run(rows, "r").results) == 10
    stem = f".tierlock/evidence/helper/{run.fingerprint[:12]}-{run.suite_digest[:12]}"
    assert filed[0].path == f"{stem}.json"
    assert filed[1].path.startswith(f"{stem}-2")
    eval_.repo.git("add", "-A")
    records = eval_.tierlock.run("review", "records", "--staged", cwd=root)
    assert records.code == 0, records


def test_configs_and_suite_are_those_of_the_revision(asking: Asking) -> None:
    with asking(items=2) as eval_:
        path = eval_.repo.path / "configs/sampling/factual.yaml"
        path.write_text(path.read_text().replace("temperature: 0.1", "temperature: 0.2"))
        eval_.run("--out", "now.jsonl")
        eval_.run("--out", "then.jsonl", "--at", "HEAD")
        runs = [load_run((eval_.repo.path / f"{name}.jsonl").read_bytes(), name) for name in ("now", "then")]
    assert [run.results[0].request["temperature"] for run in runs] == [0.2, 0.1]
    assert runs[0].fingerprint != runs[1].fingerprint


def test_a_run_is_held_against_an_earlier_one(asking: Asking) -> None:
    with asking(one_wrong) as eval_:
        eval_.run("--out", "before.jsonl")
        said = eval_.run("--against", "before.jsonl")
    assert said.code == 0
    assert "9 of 10 right, golden 9, 0 lost; failing in golden too: q3" in " ".join(said.out.split())


def test_the_json_says_what_a_machine_needs(asking: Asking) -> None:
    with asking(one_wrong) as eval_:
        told = eval_.run("--format", "json").json
    assert (told["outcome"], told["exit_code"]) == ("block", 1)
    run: Mapping[str, Json] = told["run"]
    assert run["failing"] == ["q3"]
    assert (run["items"], run["answered"], run["passed"], run["compared"]) == (10, 10, 9, None)


def test_a_full_suite_shows_a_row_for_each_task(asking: Asking) -> None:
    with asking(one_wrong, service={"evals": {"full": "smoke", "min_score": 0.3}}) as eval_:
        said = eval_.run("--suite", "smoke")
    assert said.code == 0, said
    assert "question-answering" in said.out
    assert "9 of 10 right: 0.900" in said.out
    assert "1 item wrong: q3" in said.out
    assert "TL720" not in said.out


def test_a_real_server_is_read_back_before_and_after(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    start_llama: Callable[..., AbstractContextManager[LlamaServer]],
) -> None:
    """As declared, the evidence stands whatever the answers; with a quantised cache it cannot."""
    kept = {"task": "maths", "prompt": "Say yes.", "scorer": "limits", "args": {"max_chars": 4000}}
    items = [{"id": f"q{number}", **kept} for number in range(6)]
    suite = "".join(json.dumps(item) + "\n" for item in items)
    files = {**evals.files(base=BASE), "evals/smoke.jsonl": suite}
    repo = evals.repository(tmp_path / "repo", files)
    tierlock = Tierlock(repo.path, capsys, monkeypatch)
    with start_llama() as server:
        said = tierlock.run("eval", "run", "helper", "--url", server.url, "--record")
    assert said.code == 0, said
    assert "values as declared, before and after" in said.out
    (rows,) = repo.path.glob(".tierlock/evidence/helper/*.jsonl")
    results = load_run(rows.read_bytes(), "r").results
    assert not any(each.retried for each in results)  # it closes connections that it says it keeps
    result = results[0]
    assert result.completion_tokens is not None
    assert len(result.token_ids) == len(result.logprobs)
    assert result.completion_tokens - len(result.token_ids) in (0, 1)  # the end of text is not streamed
    assert result.first_token_s is not None
    assert result.request["repeat_penalty"] == 1.1
    with start_llama(arguments=["--cache-type-k", "q4_0", "--cache-type-v", "q4_0"]) as server:
        said = tierlock.run("eval", "run", "helper", "--url", server.url)
    assert said.code == 1
    assert "precision.kv_cache.dtype is `q4_0`, declared `f16`" in " ".join(said.out.split())
    assert f"next    tierlock diff helper {server.url}" in said.out
