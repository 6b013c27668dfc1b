"""The tag of a pinned image, by a registry over HTTP."""

from __future__ import annotations

from governance.monitor.mismatch import Concerns, Seen
from governance.monitor.tags import EVERY, Tag
from governance.values import Unknown
from tests.support.fake_registry import FakeRegistry, index, manifest

NAME, TAG = "team/llama-server", "v0.8"


def test_a_tag_that_was_moved_is_told_with_both_digests() -> None:
    with FakeRegistry() as registry:
        pinned = registry.push(NAME, TAG, manifest("one"))
        tag = Tag(f"{registry.host}/{NAME}:{TAG}@{pinned}")
        assert tag.look(0.0) == Seen()
        moved = registry.push(NAME, TAG, manifest("two"))
        assert tag.look(EVERY - 1) == Seen(), "the registry was asked too soon"
        (one,) = tag.look(EVERY).mismatches
    assert (one.code, one.concerns) == ("TL809", Concerns.NEXT_START)
    assert (one.change.key, one.change.before, one.change.after) == (f"tag {TAG}", pinned, moved)


def test_a_tag_that_was_moved_back_is_mended() -> None:
    answers = iter(["sha256:" + "2" * 64, "sha256:" + "1" * 64])
    tag = Tag(f"registry.example/{NAME}:{TAG}@sha256:{'1' * 64}", lambda _: next(answers))
    assert tag.look(0.0).mismatches
    assert tag.look(EVERY).equal


def test_a_manifest_inside_the_index_of_the_tag_is_no_move() -> None:
    with FakeRegistry() as registry:
        body = manifest("amd64")
        pinned = registry.push(NAME, "", body)
        registry.push(NAME, TAG, index({"linux/amd64": body}))
        assert Tag(f"{registry.host}/{NAME}:{TAG}@{pinned}").look(0.0) == Seen()


def test_a_registry_that_does_not_answer_changes_nothing() -> None:
    answers: list[str | Unknown] = ["sha256:" + "2" * 64, Unknown("connection refused"), ""]
    tag = Tag(f"registry.example/{NAME}:{TAG}@sha256:{'1' * 64}", lambda _: answers.pop(0))
    first = tag.look(0.0)
    assert tag.look(EVERY) == tag.look(2 * EVERY) == first
    assert not first.equal


def test_an_image_without_a_tag_or_without_a_digest_has_no_tag_to_move() -> None:
    def never(_: str) -> str:
        raise AssertionError("nobody was to be asked")

    for reference in ("", f"registry.example/{NAME}@sha256:{'1' * 64}", f"registry.example/{NAME}:{TAG}"):
        assert Tag(reference, never).look(0.0) == Seen()
