"""Whether an image can be had again: by digest, with every blob, and told from a registry that is down."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from governance.adapters.processes import free_port
from governance.release.restorable.image import check_image
from governance.verdict import Check, Outcome
from tests.support.drilled import service, subject, world
from tests.support.fake_registry import FakeRegistry, digest_of, manifest

NAME = "infer/tern"
BODY = manifest("config", "layer-1", "layer-2")
DIGEST = digest_of(BODY)


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with FakeRegistry() as server:
        server.push(NAME, "v1", BODY)
        server.push_layers(NAME, BODY)
        yield server


def judged(ref: str, driver: str = "container") -> Check:
    image = f'image: {{ref: "{ref}"}}\n' if ref else ""
    return check_image(subject(service(image, f"{{driver: {driver}}}")), world())


def test_a_digest_with_all_its_blobs_can_be_restored(registry: FakeRegistry) -> None:
    check = judged(f"{registry.host}/{NAME}@{DIGEST}")
    assert check == Check("image", Outcome.PASS, f"{DIGEST[:19]} in {registry.host} with 3 blobs")
    asked = [headers[":method"] for path, headers in registry.requests if "/blobs/" in path]
    assert asked == ["HEAD"] * 3


def test_a_tag_that_moved_is_told_and_the_digest_counts(registry: FakeRegistry) -> None:
    pinned = f"{registry.host}/{NAME}:v1@{DIGEST}"
    assert "tag" not in judged(pinned).detail
    other = manifest("other")
    registry.push(NAME, "v1", other)
    check = judged(pinned)
    assert check.outcome is Outcome.PASS
    assert f"the tag v1 is {digest_of(other)[:19]} by now, the digest counts" in check.detail
    del registry.tags[(NAME, "v1")]
    assert "the tag v1 is not there any more" in judged(pinned).detail


def test_a_manifest_that_is_gone_blocks(registry: FakeRegistry) -> None:
    gone = "sha256:" + "0" * 64
    check = judged(f"{registry.host}/{NAME}@{gone}")
    assert check.outcome is Outcome.BLOCK
    assert f"{registry.host}/{NAME} has no {gone[:19]} any more" in check.detail


def test_a_layer_that_a_retention_job_took_blocks_though_the_manifest_is_there(
    registry: FakeRegistry,
) -> None:
    registry.layers.discard((NAME, digest_of(b"layer-2")))
    check = judged(f"{registry.host}/{NAME}@{DIGEST}")
    assert check.outcome is Outcome.BLOCK
    assert "1 of 3 blobs are gone" in check.detail


def test_an_index_is_followed_to_the_manifest_of_this_platform(registry: FakeRegistry) -> None:
    listed = registry.push_index(NAME, "multi", {"linux/amd64": BODY, "linux/arm64/v8": manifest("arm")})
    assert judged(f"{registry.host}/{NAME}@{listed}").outcome is Outcome.PASS
    arm = registry.push_index(NAME, "arm", {"linux/arm64/v8": BODY})
    check = judged(f"{registry.host}/{NAME}@{arm}")
    assert check.outcome is Outcome.BLOCK
    assert "no image for linux/amd64" in check.detail


def test_a_registry_that_does_not_answer_is_undecided() -> None:
    check = judged(f"127.0.0.1:{free_port()}/{NAME}@{DIGEST}")
    assert check.outcome is Outcome.UNDECIDED
    assert "does not answer" in check.detail


def test_other_bytes_than_the_digest_says_are_undecided(registry: FakeRegistry) -> None:
    registry.lie = manifest("a lie")
    assert judged(f"{registry.host}/{NAME}@{DIGEST}").outcome is Outcome.UNDECIDED


def test_a_tag_alone_restores_nothing_and_a_container_without_image_neither(registry: FakeRegistry) -> None:
    check = judged(f"{registry.host}/{NAME}:v1")
    assert check.outcome is Outcome.BLOCK
    assert "has no digest, so the image cannot be restored" in check.detail
    assert judged("", "kubernetes").outcome is Outcome.BLOCK
    assert judged("", "none").outcome is Outcome.PASS
    assert registry.requests == []


def test_a_driver_that_runs_a_program_of_the_host_needs_no_image(registry: FakeRegistry) -> None:
    check = judged(f"{registry.host}/{NAME}@sha256:{'0' * 64}", "process")
    assert check.outcome is Outcome.PASS
    assert check.detail.startswith("not used")
