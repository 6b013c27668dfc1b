"""What a digest covers, how layers fold, and that unknown equals nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest

from governance.adapters.files import MemoryTree
from governance.errors import Unreadable
from governance.fingerprint.layers import (
    Fingerprint,
    compare,
    config_digest,
    effective_digest,
    meaning,
    service_fingerprint,
    short,
)
from governance.tiers.config import Config, ConfigId, load_config, load_repository
from governance.values import ABSENT, Effect, Tree, Unknown
from governance.verdict import EffectiveValue

PROMPTS = "kind: prompts\nsystem: {file: system.md}\n"


def config(tier: str, text: str, files: Mapping[str, bytes] | None = None) -> Config:
    tree = {f"configs/{tier}/x.yaml": text.encode()}
    tree |= {f"configs/{tier}/x/{name}": data for name, data in (files or {}).items()}
    found, findings = load_config(MemoryTree(tree), ConfigId(tier, "x"))
    assert found is not None, findings
    return found


def digest_of(tier: str, text: str, files: Mapping[str, bytes] | None = None) -> str:
    return config_digest(config(tier, text, files))


BASE = """kind: base
model: {id: a/b, revision: "4f1c2d9e8b7a6051a3b1c2d3e4f50617a8b9c0d1"}
engine: {name: vllm, version: "0.8.4", options: {max_model_len: 8192}, extra: {seed-x: 1}}
environment: {variables: {VLLM_ATTENTION_BACKEND: FLASH_ATTN, VLLM_LOGGING_LEVEL: INFO}}
"""

S = "kind: sampling\n"
LAUNCH = "max_model_len: 8192"
SAME = [
    ("key order", "sampling", S + "top_p: 0.9\ntemperature: 0.1\n", S + "temperature: 0.1\ntop_p: 0.9\n"),
    ("comments and layout", "sampling", S + "top_p: 0.9\n", "# why\nkind:   sampling\n\ntop_p: 0.90 # low\n"),
    ("1 in a field of floats", "sampling", S + "top_p: 1\n", S + "top_p: 1.0\n"),
    ("-0.0", "sampling", S + "presence_penalty: -0.0\n", S + "presence_penalty: 0.0\n"),
    ("order of a set", "sampling", S + "stop_token_ids: [2, 1]\n", S + "stop_token_ids: [1, 2]\n"),
    ("a note for people", "sampling", S + "description: a\n", S + "reason: b\n"),
    ("log level", "base", BASE, BASE.replace("LEVEL: INFO", "LEVEL: DEBUG")),
    ("a log level that comes", "base", BASE.replace(", VLLM_LOGGING_LEVEL: INFO", ""), BASE),
    ("served name", "base", BASE, BASE.replace(LAUNCH, LAUNCH + ", served_model_name: [name-a]")),
]
DIFFERENT = [
    ("a value", "sampling", S + "temperature: 0.1\n", S + "temperature: 0.2\n"),
    ("absent and inherit", "sampling", S, S + "top_k: inherit\n"),
    ("order of stop strings", "sampling", S + "stop: [a, b]\n", S + "stop: [b, a]\n"),
    ("1 and 1.0 where the type is open", "base", BASE, BASE.replace("seed-x: 1", "seed-x: 1.0")),
    ("1 and true where the type is open", "base", BASE, BASE.replace("seed-x: 1", "seed-x: true")),
    ("a variable of the kernels", "base", BASE, BASE.replace("FLASH_ATTN", "TRITON_ATTN")),
]


@pytest.mark.parametrize(("what", "tier", "left", "right"), SAME, ids=[row[0] for row in SAME])
def test_a_digest_is_not_moved_by(what: str, tier: str, left: str, right: str) -> None:
    assert digest_of(tier, left) == digest_of(tier, right)


@pytest.mark.parametrize(("what", "tier", "left", "right"), DIFFERENT, ids=[row[0] for row in DIFFERENT])
def test_a_digest_is_moved_by(what: str, tier: str, left: str, right: str) -> None:
    assert digest_of(tier, left) != digest_of(tier, right)


def test_text_in_place_and_the_same_bytes_in_a_file_mean_the_same() -> None:
    in_file = digest_of("prompts", PROMPTS, {"system.md": b"Be brief."})
    renamed = digest_of("prompts", PROMPTS.replace("system.md", "rules.md"), {"rules.md": b"Be brief."})
    in_place = digest_of("prompts", "kind: prompts\nsystem: Be brief.\n")
    assert in_file == renamed == in_place


def test_one_added_newline_in_a_prompt_is_a_change() -> None:
    before = digest_of("prompts", PROMPTS, {"system.md": b"Be brief."})
    assert before != digest_of("prompts", PROMPTS, {"system.md": b"Be brief.\n"})


def test_a_template_in_place_and_in_a_file_mean_the_same() -> None:
    in_file = digest_of(
        "prompts", "kind: prompts\ntemplate: {file: t.j2, variables: {a: text}}\n", {"t.j2": b"{{ a }}"}
    )
    in_place = digest_of("prompts", 'kind: prompts\ntemplate: {text: "{{ a }}", variables: {a: text}}\n')
    assert in_file == in_place


def test_a_template_with_both_a_file_and_a_text_keeps_both() -> None:
    """A rule refuses it; the digest must not depend on which of the two is written first."""
    digests = set()
    for tree in ({"file": "t.j2", "text": "x"}, {"text": "x", "file": "t.j2"}, {"file": "t.j2", "text": "y"}):
        known = config("prompts", PROMPTS, {"system.md": b"a"})
        both: Tree = {"kind": "prompts", "template": tree}
        digests.add(config_digest(dataclasses.replace(known, tree=both, files={"x/t.j2": b"z"})))
    assert len(digests) == 2


def test_every_file_a_config_carries_enters_even_when_no_key_consumes_it() -> None:
    """A key that the table of shapes forgot must cost a false difference, not a missed one."""
    known = config("prompts", PROMPTS, {"system.md": b"a"})
    extra = dataclasses.replace(known, files={**known.files, "x/forgotten.json": b"{}"})
    other = dataclasses.replace(known, files={**known.files, "x/forgotten.json": b"[]"})
    assert len({config_digest(known), config_digest(extra), config_digest(other)}) == 3


def test_a_file_that_is_named_and_not_there_has_no_digest() -> None:
    known = config("prompts", PROMPTS, {"system.md": b"a"})
    with pytest.raises(Unreadable, match=r"system\.md"):
        config_digest(dataclasses.replace(known, files={}))


def test_a_secret_in_the_environment_is_neither_kept_nor_hashed() -> None:
    """An unsalted hash of a password is a way to guess it."""
    tree: Tree = {
        "kind": "base",
        "environment": {"variables": {"UPLOAD_PASSWORD": "not-a-real-one", "X": "1"}},
    }
    known = config("base", BASE)
    found = meaning(dataclasses.replace(known, tree=tree))
    assert "not-a-real-one" not in str(found)
    assert found["environment"] == {"variables": {"X": "1"}}


def test_a_fold_over_an_unknown_layer_is_unknown_and_names_it() -> None:
    fold = Fingerprint({"base": "a" * 64, "image": Unknown("registry down")}).fold()
    assert isinstance(fold, Unknown)
    assert "image: registry down" in fold.reason


def test_a_fold_over_no_layer_is_unknown() -> None:
    assert isinstance(Fingerprint({}).fold(), Unknown)


def test_a_fold_depends_on_the_names_and_the_scheme_and_not_on_the_order() -> None:
    one, two = "1" * 64, "2" * 64
    folds = {
        Fingerprint({"base": one, "sampling": two}).fold(),
        Fingerprint({"sampling": two, "base": one}).fold(),
        Fingerprint({"base": two, "sampling": one}).fold(),
        Fingerprint({"base": one}).fold(),
        Fingerprint({"base": one, "sampling": two}, scheme="tl2-x").fold(),
    }
    assert len(folds) == 4


def test_layers_compare_one_by_one_and_unknown_is_never_the_same() -> None:
    left = Fingerprint({"base": "1" * 64, "image": Unknown("down"), "weights": "3" * 64, "prompts": "5" * 64})
    right = Fingerprint({"base": "1" * 64, "image": Unknown("down"), "weights": "4" * 64})
    states = {state.name: state.state for state in compare(left, right)}
    assert states == {"base": "same", "prompts": "unknown", "weights": "changed", "image": "unknown"}


def test_a_record_of_another_scheme_is_unknown_and_never_changed() -> None:
    left, right = Fingerprint({"base": "1" * 64}, scheme="tl0-md5"), Fingerprint({"base": "2" * 64})
    (state,) = compare(left, right)
    assert state.state == "unknown"
    assert "tl0-md5" in state.detail


def test_effective_values_are_unknown_when_one_that_shapes_answers_is() -> None:
    known = EffectiveValue("sampling.top_k", 20)
    digest = effective_digest([known])
    assert isinstance(digest, str)
    gpu = EffectiveValue("engine.options.attention", Unknown("depends on the GPU"))
    unknown = effective_digest([known, gpu])
    assert isinstance(unknown, Unknown)
    assert "engine.options.attention" in unknown.reason
    harmless = EffectiveValue("engine.options.max_num_seqs", Unknown("?"), risk=Effect.LATENCY)
    assert effective_digest([known, harmless, EffectiveValue("sampling.min_p", ABSENT)]) == digest
    assert effective_digest([known, gpu], only={"sampling.top_k"}) == digest


def test_where_a_value_comes_from_is_not_part_of_it() -> None:
    left = EffectiveValue("sampling.top_k", 20, provenance="config")
    right = EffectiveValue("sampling.top_k", 20, provenance="GET /props")
    assert effective_digest([left]) == effective_digest([right])


def test_a_service_has_the_layers_it_was_given() -> None:
    files = {
        "tierlock.yaml": b"version: 1\nservices:\n  s: {base: x, sampling: x, prompts: x}\n",
        "configs/base/x.yaml": BASE.encode(),
        "configs/sampling/x.yaml": b"kind: sampling\ntemperature: 0.1\n",
        "configs/prompts/x.yaml": PROMPTS.encode(),
        "configs/prompts/x/system.md": b"a",
    }
    service = load_repository(MemoryTree(files)).services["s"]
    bare = service_fingerprint(service)
    assert set(bare.layers) == {"base", "sampling", "prompts"}
    assert isinstance(bare.fold(), str)
    broken = service_fingerprint(dataclasses.replace(service, base=None))
    assert isinstance(broken.layers["base"], Unknown)
    assert broken.layers["sampling"] == bare.layers["sampling"]


def test_a_digest_is_shown_short() -> None:
    assert short("0123456789abcdef") == "0123456789ab"
    assert short(Unknown("x")) == "unknown"
    assert short(None) == "-"
