"""The policy as a value: what it requires, of whom, on which branches, and what its digest covers."""

from __future__ import annotations

from typing import Any

import pytest

from governance.errors import Unreadable
from governance.review.model import Authors, Subject, SubjectKind, Transition
from governance.review.policy import Policy, fingerprint_of, has_policy, policy_digest, protected, requirement
from governance.values import Effect

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDEJUnrmZumr/wNJZGxQPgWunDoH7YJi2/ySESFm91ze"
REVIEW: dict[str, Any] = {
    "people": {
        "a": {"keys": [KEY], "emails": ["A@Example.org"], "github": 7},
        "b": {"gitlab": 8},
        "c": {},
    },
    "roles": {"platform": ["a", "b", "gone"], "writers": ["c"]},
    "base": {"approvals": 2, "from": ["platform"]},
    "prompts": {"approvals": 1, "from": ["platform", "writers"], "on_output_change": 2},
}


def policy(**more: Any) -> Policy:
    return Policy.of({"version": 1, "review": {**REVIEW, **more}})


def change(name: str, kind: SubjectKind = SubjectKind.CONFIG, risk: Effect = Effect.OUTPUT) -> Transition:
    return Transition(Subject(kind, name, "0" * 64, "1" * 64), (), risk)


class TestRequirement:
    def test_people_are_those_of_the_roles_whom_the_policy_knows(self) -> None:
        found = requirement(policy(), change("base/x"), Authors())
        assert (found.approvals, found.people, found.roles) == (2, ("a", "b"), ("platform",))

    def test_an_author_is_left_out_and_told(self) -> None:
        found = requirement(policy(), change("base/x"), Authors(frozenset({"a"})))
        assert found.people == ("b",)
        assert found.because == ("a made the change, so may not approve it",)

    def test_the_risk_of_the_change_raises_the_number(self) -> None:
        assert requirement(policy(), change("prompts/x"), Authors()).approvals == 2
        assert requirement(policy(), change("prompts/x", risk=Effect.NONE), Authors()).approvals == 1

    def test_what_the_policy_does_not_mention_needs_one_of_anybody_in_it(self) -> None:
        found = requirement(policy(), change("sampling/x"), Authors())
        assert (found.approvals, found.people) == (1, ("a", "b", "c"))
        assert "says nothing of `sampling`" in found.because[0]

    @pytest.mark.parametrize("kind", [SubjectKind.BINDING, SubjectKind.POLICY])
    def test_bindings_and_the_policy_need_the_most_that_any_tier_needs(self, kind: SubjectKind) -> None:
        found = requirement(policy(), change("policy", kind), Authors())
        assert (found.approvals, found.people) == (2, ("a", "b"))
        own = policy(**{kind.value: {"approvals": 1, "from": ["writers"]}})
        assert requirement(own, change("policy", kind), Authors()).people == ("c",)


class TestProtected:
    @pytest.mark.parametrize(
        ("patterns", "ref", "is_protected"),
        [
            (None, "wip/x", True),
            ([], "main", False),
            (["main"], "main", True),
            (["main"], "refs/heads/main", True),
            (["main"], "refs/tags/main", False),
            (["main"], "maintenance", False),
            (["release/*"], "release/1/hotfix", True),
            (["refs/tags/v*"], "refs/tags/v1", True),
            (["refs/tags/v*"], "v1", False),
        ],
    )
    def test_patterns_name_branches(self, patterns: list[str] | None, ref: str, is_protected: bool) -> None:
        more = {} if patterns is None else {"protected": patterns}
        assert protected(policy(**more), ref) is is_protected


class TestDigest:
    def test_the_order_of_a_set_means_nothing(self) -> None:
        one, other = ({"version": 1, "review": {"protected": names}} for names in (["a", "b"], ["b", "a"]))
        assert policy_digest(one) == policy_digest(other)

    @pytest.mark.parametrize(
        "more",
        [
            {"review": {**REVIEW, "at_commit": "never"}},
            {"rules": {"exemptions": [{"rule": "TL301"}]}},
            {"profiles": {"factual": {"temperature": {"max": 2.0}}}},
            {"version": 2},
        ],
    )
    def test_whatever_decides_is_covered(self, more: dict[str, Any]) -> None:
        tree = {"version": 1, "review": REVIEW}
        assert policy_digest({**tree, **more}) != policy_digest(tree)

    def test_services_are_not_covered(self) -> None:
        tree = {"version": 1, "review": REVIEW}
        assert policy_digest({**tree, "services": {"x": {}}}) == policy_digest(tree)

    def test_without_a_review_section_there_is_none(self) -> None:
        assert policy_digest({"version": 1, "rules": {}}) is None
        assert not has_policy({"review": {}})


class TestPeople:
    def test_a_person_is_known_by_address_key_and_number(self) -> None:
        found = policy()
        assert found.person_of_email(" a@EXAMPLE.org ") == "a"
        assert found.person_of_key(fingerprint_of(KEY)) == "a"
        assert found.person_of_account("github", 7) == "a"
        assert found.person_of_account("gitlab", 7) is None

    def test_a_fingerprint_is_the_one_ssh_keygen_shows(self) -> None:
        assert fingerprint_of(KEY).startswith("SHA256:")
        assert len(fingerprint_of(KEY)) == 50
        assert fingerprint_of(f"{KEY} a comment") == fingerprint_of(KEY)
        assert fingerprint_of("rubbish") == fingerprint_of("ssh-ed25519 ***") == ""

    def test_a_day_that_is_none_is_an_error_and_no_open_door(self) -> None:
        people = {"a": {"keys": [{"key": KEY, "revoked": "2026-02-31"}]}}
        with pytest.raises(Unreadable, match="no day of the calendar"):
            policy(people=people)
