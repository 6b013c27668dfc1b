"""The law of the release diff: two configs differ in it exactly when their fingerprints differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from governance.adapters.files import MemoryTree
from governance.fingerprint.changes import Showing, config_changes
from governance.fingerprint.layers import config_digest
from governance.tiers.config import Config, ConfigId, load_config

NUMBER = st.sampled_from([0, 0.0, 1, 1.0, 0.5, 0.2])
SAMPLING = st.fixed_dictionaries(
    {"kind": st.just("sampling")},
    optional={
        "description": st.sampled_from(["a", "b"]),
        "temperature": NUMBER | st.just("inherit"),
        "top_p": st.sampled_from([1, 1.0, 0.5]),
        "top_k": st.integers(1, 3),
        "seed": st.integers(0, 2),
        "stop": st.lists(st.sampled_from(["a", "b", "c"]), max_size=3, unique=True),
        "stop_token_ids": st.lists(st.integers(0, 3), max_size=3),
        "logit_bias": st.dictionaries(st.sampled_from(["1", "2"]), NUMBER, max_size=2),
        "dry": st.fixed_dictionaries({"multiplier": NUMBER}),
        "extra": st.dictionaries(
            st.sampled_from(["x", "y"]), st.sampled_from([1, 1.0, True, "1", [1], [1.0]]), max_size=2
        ),
    },
)
TEXT = st.sampled_from(["a", "a\n", "b", "a b", "ä", ""])
PROMPTS = st.fixed_dictionaries(
    {"kind": st.just("prompts")},
    optional={
        "description": st.sampled_from(["a", "b"]),
        "system": TEXT | st.fixed_dictionaries({"file": st.just("system.md")}),
        "template": st.fixed_dictionaries({"text": TEXT})
        | st.fixed_dictionaries({"file": st.just("user.md.j2")}),
        "few_shot": st.lists(st.fixed_dictionaries({"input": TEXT, "output": TEXT}), min_size=1, max_size=2),
        "stop": st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True),
    },
)
FILES = st.fixed_dictionaries({"system.md": TEXT, "user.md.j2": TEXT})


def load(tier: str, tree: Any, files: dict[str, str]) -> Config | None:
    """The config, with those of `files` that it names; None when the schema refuses it."""
    named = {name: text for name, text in files.items() if f'"{name}"' in json.dumps(tree)}
    source = MemoryTree(
        {
            f"configs/{tier}/x.yaml": json.dumps(tree, indent=1, ensure_ascii=False).encode(),
            **{f"configs/{tier}/x/{name}": text.encode() for name, text in named.items()},
        }
    )
    return load_config(source, ConfigId(tier, "x"))[0]


def holds(tier: str, before: tuple[Any, dict[str, str]], after: tuple[Any, dict[str, str]]) -> None:
    old, new = load(tier, *before), load(tier, *after)
    assume(old is not None)
    assume(new is not None)
    assert old is not None
    assert new is not None
    changes = config_changes(tier, old, new, Showing())
    assert (changes == ()) == (config_digest(old) == config_digest(new))
    back = config_changes(tier, new, old, Showing())
    assert (back == ()) == (changes == ())
    for change in changes:
        assert repr(change.before) != repr(change.after)
        assert change.key


@given(SAMPLING, SAMPLING)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_sampling_configs_differ_exactly_when_their_digests_do(before: Any, after: Any) -> None:
    holds("sampling", (before, {}), (after, {}))


@given(SAMPLING, st.sampled_from(["temperature", "stop", "extra", "seed", "description"]), SAMPLING)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_one_changed_key_is_enough(before: Any, key: str, other: Any) -> None:
    after = {**before, **{name: value for name, value in other.items() if name == key}}
    holds("sampling", (before, {}), (after, {}))


@given(PROMPTS, FILES, PROMPTS, FILES)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_prompts_differ_exactly_when_their_digests_do(
    before: Any, old_files: dict[str, str], after: Any, new_files: dict[str, str]
) -> None:
    holds("prompts", (before, old_files), (after, new_files))


def test_a_text_change_always_has_lines_to_show() -> None:
    old = load("prompts", {"kind": "prompts", "system": "a\n"}, {})
    new = load("prompts", {"kind": "prompts", "system": "a"}, {})
    assert old is not None
    assert new is not None
    (change,) = config_changes("prompts", old, new, Showing())
    assert change.text == ("     1  a", "- newline removed at end of text")
    assert Path(change.path).name == "x.yaml"
