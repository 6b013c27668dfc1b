"""The server that is evaluated is read back before and after: what it shows decides what a run speaks for."""

from __future__ import annotations

from governance.engines.model import Observed
from governance.engines.observe import Observation
from governance.errors import Unreachable
from governance.evals.read_back import Look, Seen, differing, judge_server, read_back
from governance.values import Json
from governance.verdict import Outcome
from tests.support import evals

SERVICE = evals.service_of(evals.files())
AS_DECLARED: dict[str, Json] = {
    "engine.name": "llama.cpp",
    "engine.options.max_model_len": 1024,
    "engine.options.threads": 1,
    "precision.kv_cache.dtype": "f16",
}


def shows(**values: Json) -> Look:
    def look(engine: str, version: str) -> Observation:
        told = {**AS_DECLARED, **values}
        seen = {key: Observed(value, "GET /props") for key, value in told.items()}
        return Observation("llama.cpp", "b10434", "http://127.0.0.1:9", seen)

    return look


def look_at(**values: Json) -> Seen:
    return read_back(SERVICE, shows(**values))


def test_a_server_as_declared_passes_with_the_number_of_values() -> None:
    seen = look_at()
    assert seen.compared >= 4
    check = judge_server(seen, seen)
    assert check.outcome is Outcome.PASS
    assert check.detail == f"{seen.compared} of {seen.compared} values as declared, before and after"


def test_a_quantised_cache_blocks_and_names_key_declared_and_found() -> None:
    seen = look_at(**{"precision.kv_cache.dtype": "q4_0"})
    check = judge_server(seen, seen)
    assert check.outcome is Outcome.BLOCK
    assert "before the run: precision.kv_cache.dtype is `q4_0`, declared `f16`" in check.detail
    assert differing(seen, seen) == ("precision.kv_cache.dtype",)


def test_a_server_that_was_changed_during_the_run_blocks() -> None:
    check = judge_server(look_at(), look_at(**{"precision.kv_cache.dtype": "q4_0"}))
    assert check.outcome is Outcome.BLOCK
    assert "after the run" in check.detail


def test_what_moves_only_the_speed_is_told() -> None:
    seen = look_at(**{"engine.options.mlock": True})
    check = judge_server(seen, seen)
    assert check.outcome is Outcome.PASS
    assert "speed only: engine.options.mlock" in check.detail
    assert differing(seen, seen) == ("engine.options.mlock",)


def test_a_server_that_cannot_be_read_back_is_undecided_with_the_reason() -> None:
    def gone(engine: str, version: str) -> Observation:
        raise Unreachable("a server answers, and it is no engine tierlock knows")

    seen = read_back(SERVICE, gone)
    assert seen.compared == 0
    check = judge_server(look_at(), seen)
    assert check.outcome is Outcome.UNDECIDED
    assert check.detail == "after the run: a server answers, and it is no engine tierlock knows"


def test_a_server_that_shows_nothing_is_undecided() -> None:
    def silent(engine: str, version: str) -> Observation:
        return Observation("llama.cpp", "b10434", "http://127.0.0.1:9", {})

    seen = read_back(SERVICE, silent)
    check = judge_server(seen, seen)
    assert check.outcome is Outcome.UNDECIDED
    assert "shows nothing that could be compared" in check.detail


def test_a_server_that_was_started_anew_in_the_middle_is_undecided() -> None:
    before, after = Seen(compared=4, started_at=100.0), Seen(compared=4, started_at=160.0)
    assert judge_server(before, after).outcome is Outcome.UNDECIDED
    assert judge_server(before, Seen(compared=4, started_at=100.4)).outcome is Outcome.PASS


def test_a_difference_is_not_hidden_by_a_look_that_failed() -> None:
    wrong = look_at(**{"precision.kv_cache.dtype": "q4_0"})
    assert judge_server(Seen(missing="gone"), wrong).outcome is Outcome.BLOCK
