"""Laws of the fingerprint: layout never moves it, one changed field moves one layer, equal means no
change.
"""

from __future__ import annotations

import dataclasses
import io
import random
from collections.abc import Mapping
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from governance.adapters.files import MemoryTree
from governance.fingerprint.layers import Fingerprint, compare, config_digest, meaning, service_fingerprint
from governance.fingerprint.packages import CondaPackage, Package, Packages, layer_digest, layer_value
from governance.tiers.canonical import digest
from governance.tiers.config import Config, ConfigId, Service, load_config
from governance.tiers.treediff import tree_changes
from governance.values import Json, Unknown
from tests.support.trees import random_tree

TIERS = ("base", "sampling", "prompts")
SEEDS = st.integers(0, 2**32)


def file_names(value: object) -> set[str]:
    """Every text in a tree, as a name a file could have: what a config may refer to."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, Mapping):
        return set().union(*map(file_names, value.values())) if value else set()
    return set().union(*map(file_names, value)) if isinstance(value, list) and value else set()


def config(tier: str, tree: dict[str, Any]) -> Config:
    """A config that holds `tree`, with a file for every name in it."""
    text = b"kind: sampling\n"
    loaded, _ = load_config(MemoryTree({"configs/sampling/x.yaml": text}), ConfigId("sampling", "x"))
    assert loaded is not None
    files = {f"x/{name}": name.encode() for name in file_names(tree)}
    return dataclasses.replace(loaded, id=ConfigId(tier, "x"), tree=tree, files=files)


def without_files(found: Any) -> Any:
    """The meaning without the files that no key consumed: here every text got one."""
    return {key: value for key, value in found.items() if key != "tl:files"}


def shuffled(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: shuffled(value[key], rng) for key in keys}
    return [shuffled(item, rng) for item in value] if isinstance(value, list) else value


def written(tree: dict[str, Any], *, flow: bool, width: int, comment: bool) -> bytes:
    """The tree as YAML in one of many layouts."""
    yaml = YAML()
    yaml.default_flow_style = flow
    yaml.width = width
    buffer = io.BytesIO()
    yaml.dump(tree, buffer)
    return (b"# why\n\n" if comment else b"") + buffer.getvalue() + (b"\n# end\n" if comment else b"")


SAMPLING = st.fixed_dictionaries(
    {"kind": st.just("sampling")},
    optional={
        "temperature": st.floats(0, 2).map(lambda x: round(x, 3)),
        "top_p": st.sampled_from([0.5, 0.9, 1.0]),
        "top_k": st.integers(1, 100) | st.just("inherit"),
        "seed": st.integers(0, 10**6),
        "max_tokens": st.integers(1, 4096),
        "stop": st.lists(st.sampled_from(["###", "END", "</s>"]), min_size=1, unique=True),
        "stop_token_ids": st.lists(st.integers(0, 50000), min_size=1, unique=True),
        "ignore_eos": st.booleans(),
    },
)


@settings(max_examples=60, deadline=None)
@given(SAMPLING, SEEDS, st.booleans(), st.integers(20, 200), st.booleans())
def test_key_order_comments_and_layout_never_move_a_digest(
    tree: dict[str, Any], seed: int, flow: bool, width: int, comment: bool
) -> None:
    digests = set()
    for text in (
        written(tree, flow=False, width=80, comment=False),
        written(shuffled(tree, random.Random(seed)), flow=flow, width=width, comment=comment),
    ):
        found, findings = load_config(
            MemoryTree({"configs/sampling/x.yaml": text}), ConfigId("sampling", "x")
        )
        assert found is not None, (text, findings)
        digests.add(config_digest(found))
    assert len(digests) == 1


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TIERS), SEEDS)
def test_key_order_never_moves_the_digest_of_any_valid_config(tier: str, seed: int) -> None:
    rng = random.Random(seed)
    tree = random_tree(tier, rng)
    assert config_digest(config(tier, tree)) == config_digest(config(tier, shuffled(tree, rng)))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TIERS), SEEDS, SEEDS)
def test_digests_are_equal_exactly_when_there_is_no_change_of_meaning(
    tier: str, one: int, other: int
) -> None:
    left, right = (config(tier, random_tree(tier, random.Random(seed), density=0.1)) for seed in (one, other))
    changes = list(tree_changes(meaning(left), meaning(right), by_value=True))
    assert (config_digest(left) == config_digest(right)) is (not changes)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.sampled_from(TIERS), st.data())
def test_one_changed_field_moves_exactly_one_layer(seed: int, tier: str, data: st.DataObject) -> None:
    rng = random.Random(seed)
    configs = {name: config(name, random_tree(name, rng)) for name in TIERS}
    before = Service("s", configs["base"], configs["sampling"], configs["prompts"], {})
    other = config(tier, random_tree(tier, random.Random(data.draw(SEEDS))))
    assume(without_files(meaning(other)) != without_files(meaning(configs[tier])))
    after = dataclasses.replace(before, **{tier: other})  # type: ignore[arg-type]
    states = {s.name: s.state for s in compare(service_fingerprint(before), service_fingerprint(after))}
    assert [name for name, state in states.items() if state == "changed"] == [tier]


LAYERS = st.dictionaries(st.sampled_from(["base", "image", "weights"]), st.sampled_from(["1" * 64, "2" * 64]))


@given(LAYERS, LAYERS)
def test_two_folds_are_equal_exactly_when_all_layers_are(left: dict[str, str], right: dict[str, str]) -> None:
    assume(left and right)
    assert (Fingerprint(left).fold() == Fingerprint(right).fold()) is (left == right)


@given(LAYERS, st.sampled_from(["platform", "prompts"]))
def test_an_unknown_layer_never_folds_and_never_equals_itself(known: dict[str, str], name: str) -> None:
    found = Fingerprint({**known, name: Unknown("why")})
    assert isinstance(found.fold(), Unknown)
    assert found.fold() != found.fold()
    assert next(s for s in compare(found, found) if s.name == name).state == "unknown"


TEXT = st.text(max_size=12)
PACKAGES = st.builds(
    Packages,
    form=st.sampled_from(["environment", "freeze", "lock"]),
    packages=st.lists(
        st.builds(
            Package, name=TEXT, version=TEXT, record=st.none() | TEXT, vcs=TEXT, marker=TEXT,
            hashes=st.lists(TEXT, max_size=3).map(tuple), archive=TEXT, url=TEXT, doubt=st.just(""),
        ),
        min_size=1, max_size=5,
    ).map(tuple),
    conda=st.lists(st.builds(CondaPackage, TEXT, TEXT, TEXT, TEXT, TEXT), max_size=2).map(tuple),
)  # fmt: skip


@given(PACKAGES)
def test_the_packages_digest_is_the_canonical_one(packages: Packages) -> None:
    """It is written without the canonical writer's library, for the sake of start-up; the bytes must be
    its own.
    """
    value = layer_value(packages)
    assert not isinstance(value, Unknown)
    assert layer_digest(packages) == digest(value)


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.sampled_from(["1", "1.0", "2"])), unique_by=lambda p: p[0]
    ),
    SEEDS,
)
def test_the_order_of_a_list_of_packages_never_counts(rows: list[tuple[str, str]], seed: int) -> None:
    from governance.fingerprint.freeze import from_list

    assume(rows)
    other = list(rows)
    random.Random(seed).shuffle(other)
    values: list[Json | Unknown] = [
        layer_value(from_list("".join(f"{n}=={v}\n" for n, v in order).encode(), "f"))
        for order in (rows, other)
    ]
    assert values[0] == values[1]
