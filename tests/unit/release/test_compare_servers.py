"""A running server beside its declaration: what both can know, by layer, field and source."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from governance.adapters.files import MemoryTree
from governance.adapters.processes import Program
from governance.engines.model import Observed
from governance.engines.observe import Observation
from governance.engines.resolve import server_values
from governance.errors import Unreachable, Usage
from governance.fingerprint.changes import Showing
from governance.fingerprint.states import State
from governance.release.diff import compare
from governance.release.sides import EndpointSide, Place, StateSide, parse_side
from governance.values import Unknown, Value
from governance.verdict import Outcome, Report
from tests.support.llama_server import BASE, METADATA, SAMPLING, WEIGHTS, LlamaServer
from tests.support.repos import isolated

TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def files(**prompts: object) -> dict[str, bytes]:
    """The repository that `tests.support.llama_server.BASE` describes (JSON is YAML)."""
    base = {**BASE, "model": {**BASE["model"], "generation_config": {"file": "generation_config.json"}}}  # type: ignore[dict-item]
    trees = {
        "configs/base/smol.yaml": base,
        "configs/sampling/factual.yaml": SAMPLING,
        "configs/prompts/plain.yaml": {"kind": "prompts", "system": "Be brief.", **prompts},
        "tierlock.yaml": {
            "version": 1,
            "services": {"demo": {"base": "smol", "sampling": "factual", "prompts": "plain"}},
        },
    }
    return {
        "configs/base/smol/generation_config.json": json.dumps(METADATA).encode(),
        **{name: json.dumps(tree, indent=1).encode() for name, tree in trees.items()},
    }


def declared(extra: Mapping[str, bytes] | None = None, **prompts: object) -> StateSide:
    return StateSide("work tree", State(MemoryTree({**files(**prompts), **(extra or {})})), "demo")


def server(
    *, identity: Mapping[str, str] | None = None, local: bool = False, digest: str = "", **changed: Value
) -> EndpointSide:
    """A server that shows exactly what the config asks for, but for `changed` (dots written `__`)."""
    shown = {value.key: value.value for value in server_values(BASE, METADATA)}
    shown |= {"engine.name": "llama.cpp", "engine.version": "b10068", "engine.commit": "571d0d5"}
    shown |= {key.replace("__", "."): value for key, value in changed.items()}
    process = Program(7, ("llama-server",), {}, 0.0) if local else Unknown("another host")
    seen = Observation(
        "llama.cpp",
        "b10068",
        "http://x",
        {key: Observed(value, "GET /props") for key, value in shown.items()},
        {key: Observed(value, "GET /props") for key, value in (identity or {}).items()},
        process,
    )
    return EndpointSide("http://x", "http://x", lambda engine, version: seen, lambda path, algorithm: digest)


def diff(
    left: StateSide | EndpointSide, right: StateSide | EndpointSide, *, everything: bool = False
) -> Report:
    return compare(left, right, fail_on_difference=True, showing=Showing(everything=everything))


def test_an_equal_server_has_the_same_effective_fingerprint() -> None:
    report = diff(declared(), server())
    (effective,) = report.layers
    assert (effective.name, effective.state) == ("effective", "same")
    assert effective.before == effective.after
    assert isinstance(effective.before, str)
    assert (report.outcome, report.changes) == (Outcome.PASS, ())


def test_a_mismatch_names_layer_field_both_values_and_the_observed_source() -> None:
    report = diff(declared(), server(precision__kv_cache__dtype="q4_0"))
    (change,) = report.changes
    assert (change.layer, change.key) == ("effective", "precision.kv_cache.dtype")
    assert (change.before, change.after) == ("f16", "q4_0")
    assert (change.before_from, change.after_from) == ("config", "GET /props")
    assert report.layers[0].state == "changed"
    assert report.layers[0].before != report.layers[0].after
    assert report.outcome is Outcome.BLOCK


def test_the_other_way_round_says_the_same_the_other_way_round() -> None:
    report = diff(server(precision__kv_cache__dtype="q4_0"), declared())
    (change,) = report.changes
    assert (change.before, change.after, change.before_from) == ("q4_0", "f16", "GET /props")
    forward = diff(declared(), server(precision__kv_cache__dtype="q4_0")).layers[0]
    assert (report.layers[0].before, report.layers[0].after) == (forward.after, forward.before)


def test_a_default_that_every_request_pins_is_a_note() -> None:
    report = diff(declared(), server(sampling__temperature=0.9))
    assert report.outcome is Outcome.PASS
    assert any("`temperature` is 0.9" in note for note in report.notes)


def test_what_the_server_does_not_show_is_listed_and_never_equal() -> None:
    report = diff(
        declared(), server(sampling__top_k=Unknown("HTTP 401"), engine__options__threads=Unknown("hidden"))
    )
    assert report.changes == ()
    assert any("sampling.top_k: HTTP 401" in note for note in report.notes)
    everything = diff(
        declared(), server(**{f"sampling__k{n}": Unknown(f"why {n}") for n in range(20)}), everything=True
    )
    assert sum("why" in note for note in everything.notes) == 20
    folded = diff(declared(), server(**{f"sampling__k{n}": Unknown(f"why {n}") for n in range(20)}))
    assert any(note == "not compared: 12 more (--all)" for note in folded.notes)


def test_another_engine_version_is_a_change_of_the_base_layer() -> None:
    report = diff(declared(), server(engine__version="b9999"))
    change = next(one for one in report.changes if one.key == "engine.version")
    assert (change.layer, change.before, change.after) == ("base", "b10068", "b9999")
    assert next(layer for layer in report.layers if layer.name == "base").state == "changed"


def test_weights_of_a_local_server_are_hashed_and_compared() -> None:
    same = diff(declared(), server(identity={"weights": f"/models/{FILE}"}, local=True, digest=WEIGHTS))
    assert [(layer.name, layer.state) for layer in same.layers] == [
        ("effective", "same"),
        ("weights", "same"),
    ]
    other = diff(declared(), server(identity={"weights": f"/models/{FILE}"}, local=True, digest="0" * 64))
    (change,) = other.changes
    assert (change.layer, change.key, change.before) == ("weights", FILE, f"sha256:{WEIGHTS}")
    assert other.outcome is Outcome.BLOCK


def test_weights_that_cannot_be_hashed_are_said_not_to_be() -> None:
    far = diff(declared(), server(identity={"weights": f"/models/{FILE}"}, digest=WEIGHTS))
    assert any("not a process of this host" in note for note in far.notes)
    assert "weights" not in {layer.name for layer in far.layers}


def test_a_chat_template_is_compared_by_its_bytes() -> None:
    named = {"configs/prompts/plain/chat.jinja": TEMPLATE.encode()}
    side = declared(named, chat_template={"file": "chat.jinja"})
    assert diff(side, server(identity={"chat_template": TEMPLATE})).outcome is Outcome.PASS
    report = diff(side, server(identity={"chat_template": TEMPLATE + "\n"}))
    (change,) = report.changes
    assert (change.layer, change.key) == ("prompts", "chat_template")
    assert change.text[-1] == "+ newline added at end of file"


def test_two_servers_are_compared_over_what_both_show() -> None:
    report = diff(server(), server(precision__kv_cache__dtype="q8_0"))
    assert [(c.key, c.before, c.after) for c in report.changes] == [
        ("precision.kv_cache.dtype", "f16", "q8_0")
    ]
    assert diff(server(), server()).outcome is Outcome.PASS


def test_servers_that_show_nothing_are_undecided() -> None:
    blind = Observation("transformers", Unknown("no version"), "http://x", {})
    side = EndpointSide("http://x", "http://x", lambda *_: blind, lambda *_: "")
    assert diff(side, server()).outcome is Outcome.UNDECIDED
    assert diff(declared(), side).outcome is Outcome.UNDECIDED


def test_a_service_that_does_not_load_is_undecided_and_the_server_is_not_asked() -> None:
    def never(engine: str, version: str) -> Observation:
        raise AssertionError("asked")

    broken = declared({"configs/base/smol.yaml": b"kind: base\nmodel: 3\n"})
    report = diff(broken, EndpointSide("http://x", "http://x", never, lambda *_: ""))
    assert report.outcome is Outcome.UNDECIDED
    assert report.findings


def test_a_repository_with_several_services_must_name_one() -> None:
    services = {
        "version": 1,
        "services": {name: {"base": "smol", "sampling": "factual", "prompts": "plain"} for name in "ab"},
    }
    side = StateSide(
        "work tree", State(MemoryTree({**files(), "tierlock.yaml": json.dumps(services).encode()}))
    )
    with pytest.raises(Usage, match="which service runs at") as caught:
        diff(side, server())
    assert "a@worktree, b@worktree" in caught.value.hint


def test_a_server_that_is_down_is_unreachable(tmp_path: Path) -> None:
    place = Place(tmp_path, here=tmp_path, environ=isolated())
    with pytest.raises(Unreachable):
        diff(declared(), parse_side("http://127.0.0.1:9/v1", place))  # type: ignore[arg-type]


def test_a_file_is_hashed_through_the_cache(tmp_path: Path) -> None:
    (tmp_path / "w.gguf").write_bytes(b"weights")
    place = Place(tmp_path, environ=isolated(), cache=tmp_path / "cache")
    expected = hashlib.sha256(b"weights").hexdigest()
    assert [place.hash_file(str(tmp_path / "w.gguf"), "sha256") for _ in range(2)] == [expected] * 2
    assert isinstance(place.hash_file(str(tmp_path / "gone"), "sha256"), Unknown)


@pytest.mark.server
def test_a_real_server_is_equal_until_its_kv_cache_is_quantised(
    start_llama: Callable[..., AbstractContextManager[LlamaServer]], tmp_path: Path
) -> None:
    place = Place(tmp_path, here=tmp_path, environ=isolated())
    with start_llama() as running:
        report = compare(declared(), parse_side(running.url, place), fail_on_difference=True)
        assert report.changes == ()
        assert {layer.name: layer.state for layer in report.layers} == {
            "effective": "same",
            "weights": "same",
        }
        assert report.outcome is Outcome.PASS
    with start_llama(arguments=["-ctk", "q4_0", "--top-k", "7"]) as running:
        report = compare(declared(), parse_side(running.url, place))
        changes = {change.key: (change.before, change.after) for change in report.changes}
        assert changes["sampling.top_k"] == (40, 7)
        assert any("kv_cache" in key and "q4_0" in str(value[1]) for key, value in changes.items())
