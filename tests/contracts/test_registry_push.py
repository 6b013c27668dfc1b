"""What a registry promises to who attaches something to an image: a real one, and the fake of both kinds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from governance.adapters.registry import NotThere, Registry
from governance.adapters.registry_login import Credentials
from governance.adapters.registry_push import (
    digest_of,
    fallback_tag,
    list_referrer,
    push_blob,
    push_manifest,
    referrers,
)
from governance.errors import Unreachable
from governance.fingerprint.image import ACCEPT
from tests.contracts.test_registry import NAME, real_registry
from tests.support.fake_registry import MANIFEST, FakeRegistry, manifest

EMPTY = {"mediaType": "application/vnd.oci.empty.v1+json", "digest": digest_of(b"{}"), "size": 2}


@pytest.fixture(params=["new", "old", "real"])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Registry, str]]:
    """A registry and the digest of an image in it."""
    if request.param == "real":
        with real_registry(tmp_path) as found:
            found.push("a", "v1")
            there = Registry(found.host)
            yield there, there.manifest(NAME, "v1", ACCEPT).digest
    else:
        with FakeRegistry() as fake:
            fake.lists_referrers = request.param == "new"
            yield Registry(fake.host), fake.push(NAME, "v1", manifest("a"))


def artifact(subject: str, what: str = "one") -> bytes:
    """An artifact manifest that refers to `subject`."""
    tree = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": "application/vnd.example",
        "config": EMPTY,
        "layers": [EMPTY],
        "subject": {"mediaType": MANIFEST, "digest": subject, "size": 1},
        "annotations": {"what": what},
    }
    return json.dumps(tree).encode()


def attached(there: Registry, subject: str, what: str) -> str:
    body = artifact(subject, what)
    digest, headers = push_manifest(there, NAME, body, MANIFEST)
    if headers.get("oci-subject") != subject:
        list_referrer(there, NAME, subject, {"mediaType": MANIFEST, "digest": digest, "size": len(body)})
    return digest


def test_a_blob_that_was_pushed_is_there(registry: tuple[Registry, str]) -> None:
    there, _ = registry
    assert not there.has_blob(NAME, digest_of(b"{}"))
    for _ in range(2):
        assert push_blob(there, NAME, b"{}") == digest_of(b"{}")
        assert there.has_blob(NAME, digest_of(b"{}"))


def test_what_is_attached_is_found_from_the_image_each_once(registry: tuple[Registry, str]) -> None:
    there, subject = registry
    push_blob(there, NAME, b"{}")
    assert referrers(there, NAME, subject) == ()
    wanted = {
        attached(there, subject, "one"),
        attached(there, subject, "two"),
        attached(there, subject, "one"),
    }
    found = [one["digest"] for one in referrers(there, NAME, subject)]
    assert sorted(found) == sorted(wanted)
    assert len(found) == 2


def test_a_manifest_whose_blob_is_not_there_is_refused(registry: tuple[Registry, str]) -> None:
    there, subject = registry
    with pytest.raises(Unreachable):
        push_manifest(there, NAME, artifact(subject), MANIFEST)


def test_the_tag_of_an_image_stays_where_it_was(registry: tuple[Registry, str]) -> None:
    there, subject = registry
    push_blob(there, NAME, b"{}")
    attached(there, subject, "one")
    assert there.manifest(NAME, "v1", ACCEPT).digest == subject
    assert fallback_tag(subject) == "sha256-" + subject.removeprefix("sha256:")


@pytest.mark.parametrize("scheme", ["basic", "bearer"])
def test_a_push_logs_in_and_no_blob_is_sent_twice(scheme: str) -> None:
    with FakeRegistry(login=("user", "secret"), scheme=scheme) as fake:
        there = Registry(fake.host, credentials=Credentials("user", "secret"))
        push_blob(there, NAME, b"{}")
        push_blob(there, NAME, b"{}")
        sent = [path for path, headers in fake.requests if headers.get(":method") == "PUT"]
        assert len(sent) == 1
    with (
        FakeRegistry(login=("user", "secret"), scheme=scheme) as fake,
        pytest.raises(Unreachable, match=r"refuses|gives no token"),
    ):
        push_blob(Registry(fake.host), NAME, b"{}")


def test_a_registry_that_forgets_what_it_took_is_seen() -> None:
    with FakeRegistry() as fake, pytest.raises(NotThere):
        Registry(fake.host).manifest(NAME, digest_of(b"never sent"), ACCEPT)
