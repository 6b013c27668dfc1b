"""The law of review: an approval made for (a, b) is accepted for (a, b), and for nothing else.

Every signature counts as right here: what is left is the binding. That a signature is one of its statement
and of its key is held with real keys elsewhere.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from governance.adapters.files import MemoryTree
from governance.errors import Unreadable
from governance.fingerprint.layers import config_digest
from governance.review.approval import judge
from governance.review.changeset import between
from governance.review.model import Authors, Evidence, Signature, Subject, SubjectKind
from governance.review.policy import Policy, fingerprint_of
from governance.tiers.config import ConfigId, load_config
from governance.tiers.reader import read_yaml
from governance.tiers.references import name_fault, references
from governance.tiers.writer import dump
from tests.support.trees import damaged, random_tree

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDEJUnrmZumr/wNJZGxQPgWunDoH7YJi2/ySESFm91ze"
POLICY = Policy.of({"version": 1, "review": {"people": {"reviewer-a": {"keys": [KEY]}}}})
NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)
SEEDS = st.integers(0, 2**32)
TIERS = st.sampled_from(["base", "sampling", "prompts"])
NAMES = st.sampled_from(["factual", "code", "a.b"])


def state(tier: str, name: str, text: str | None) -> MemoryTree:
    """A repository with one config and the files it names, or with none."""
    if text is None:
        return MemoryTree({})
    tree = read_yaml(text.encode(), "x").tree
    named = [each for _, each, _ in references(tier, tree)] if isinstance(tree, dict) else []
    files = {f"configs/{tier}/{name}/{each}": each.encode() for each in named if not name_fault(each)}
    return MemoryTree({f"configs/{tier}/{name}.yaml": text.encode(), **files})


def loads(tier: str, name: str, text: str) -> bool:
    """Whether it has a meaning: what does not load is compared by its bytes."""
    config, _ = load_config(state(tier, name, text), ConfigId(tier, name))
    try:
        return config is not None and bool(config_digest(config))
    except Unreadable:
        return False


def texts(tier: str, rng: random.Random) -> list[str | None]:
    """One config, edits of it (of which some mean the same, and some do not load), another one, and none."""
    tree = random_tree(tier, rng)
    edited = [damaged(tree, rng) for _ in range(3)]
    written = [_written(each) for each in (tree, *edited, random_tree(tier, rng))]
    return [*written, f"# a comment\n{written[0]}", None]


def _written(tree: dict[str, object]) -> str:
    try:
        return dump(tree)  # type: ignore[arg-type]
    except (ValueError, TypeError):  # a value no file can hold
        return "kind: nothing\n"


def moved(tier: str, name: str, before: str | None, after: str | None) -> Subject | None:
    """The subject that moves from one text to another, as the gate sees it."""
    found = between(state(tier, name, before), state(tier, name, after)).transitions
    return found[0].subject if found else None


def approval(subject: Subject) -> Evidence:
    """An approval of `subject` with nothing wrong in it."""
    return Evidence(
        "signature", "reviewer-a", subject.key, subject.before, subject.after, subject.scheme,
        POLICY.digest, "measured", NOW, payload=b"x", signatures=(Signature(fingerprint_of(KEY), "x"),),
    )  # fmt: skip


def accepted(evidence: Evidence, subject: Subject, authors: Authors | None = None) -> bool:
    return judge(evidence, subject, POLICY, authors or Authors(), NOW, lambda *_: True).accepted


@settings(deadline=None, max_examples=60)
@given(seed=SEEDS, tier=TIERS, name=NAMES)
def test_an_approval_is_accepted_for_its_own_pair_only(seed: int, tier: str, name: str) -> None:
    rng = random.Random(seed)
    sides = texts(tier, rng)
    subjects = {
        subject
        for _ in range(12)
        if (subject := moved(tier, name, rng.choice(sides), rng.choice(sides))) is not None
    }
    for made_for in subjects:
        given_approval = approval(made_for)
        for subject in subjects:
            assert accepted(given_approval, subject) == (subject == made_for)


@settings(deadline=None, max_examples=40)
@given(seed=SEEDS, tier=TIERS, name=NAMES)
def test_the_way_back_needs_an_approval_of_its_own(seed: int, tier: str, name: str) -> None:
    rng = random.Random(seed)
    before, after = rng.sample(texts(tier, rng), 2)
    there, back = moved(tier, name, before, after), moved(tier, name, after, before)
    if there is None or back is None:
        assert there is None
        assert back is None
        return
    assert (there.before, there.after) == (back.after, back.before)
    assert not accepted(approval(there), back)


@settings(deadline=None, max_examples=40)
@given(seed=SEEDS, tier=TIERS, name=NAMES, other_tier=TIERS, other_name=NAMES)
def test_the_same_pair_of_digests_under_another_name_is_another_subject(
    seed: int, tier: str, name: str, other_tier: str, other_name: str
) -> None:
    rng = random.Random(seed)
    subject = moved(tier, name, None, _written(random_tree(tier, rng)))
    assert subject is not None
    elsewhere = replace(subject, name=f"{other_tier}/{other_name}")
    assert accepted(approval(subject), elsewhere) == (elsewhere == subject)
    for kind in (SubjectKind.BINDING, SubjectKind.POLICY):
        assert not accepted(approval(subject), replace(subject, kind=kind))
    assert not accepted(approval(subject), replace(subject, scheme="tl0-md5"))


@settings(deadline=None, max_examples=40)
@given(seed=SEEDS, tier=TIERS, name=NAMES)
def test_layout_asks_for_nothing_and_two_ways_to_write_it_are_one_pair(
    seed: int, tier: str, name: str
) -> None:
    rng = random.Random(seed)
    before, after = (_written(random_tree(tier, rng)) for _ in range(2))
    assume(loads(tier, name, before) and loads(tier, name, after))
    assert moved(tier, name, before, f"# why\n{before}") is None
    assert moved(tier, name, before, after) == moved(tier, name, f"# x\n{before}", f"{after}# y\n")


@settings(deadline=None, max_examples=40)
@given(seed=SEEDS, tier=TIERS)
def test_no_author_approves(seed: int, tier: str) -> None:
    subject = moved(tier, "factual", None, _written(random_tree(tier, random.Random(seed))))
    assert subject is not None
    assert accepted(approval(subject), subject)
    assert not accepted(approval(subject), subject, Authors(frozenset({"reviewer-a"})))
