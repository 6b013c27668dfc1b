"""What an OCI registry promises, asked of a real one (docker-registry, skopeo, umoci) and of the fake one.

The real one is skipped where these programs are not installed; the fake always runs.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from governance.adapters.registry import NotThere, Registry
from governance.adapters.registry_login import Credentials
from governance.errors import Unreachable
from governance.fingerprint.image import ACCEPT, Image, parse_reference, sha256_of
from governance.fingerprint.registry import look_up
from governance.values import Unknown
from tests.support.fake_registry import FakeRegistry, manifest

PROGRAMS = ("docker-registry", "skopeo", "umoci")
NAME = "infer/engine"


class Neighbour(Protocol):
    """A registry with two different images, `a` and `b`, to push."""

    host: str

    def push(self, image: str, tag: str) -> None: ...

    def delete(self, digest: str) -> None: ...


class Fake:
    def __init__(self, registry: FakeRegistry) -> None:
        self.registry, self.host = registry, registry.host

    def push(self, image: str, tag: str) -> None:
        body = manifest(image)
        self.registry.push(NAME, tag, body)
        self.registry.push_layers(NAME, body)

    def delete(self, digest: str) -> None:
        del self.registry.blobs[(NAME, digest)]


class Real:
    """docker-registry on a free port, with two images made by umoci without a daemon."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.host = folder, f"127.0.0.1:{port}"

    def build(self) -> None:
        self._run("umoci", "init", "--layout", "layout")
        for image in "ab":
            self._run("umoci", "new", "--image", f"layout:{image}")
            self._run("umoci", "config", "--image", f"layout:{image}", "--config.label", f"name={image}")

    def push(self, image: str, tag: str) -> None:
        target = f"docker://{self.host}/{NAME}:{tag}"
        self._run("skopeo", "copy", "--dest-tls-verify=false", f"oci:layout:{image}", target)

    def delete(self, digest: str) -> None:
        self._run("skopeo", "delete", "--tls-verify=false", f"docker://{self.host}/{NAME}@{digest}")

    def _run(self, *command: str) -> None:
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)


@contextmanager
def real_registry(folder: Path) -> Iterator[Real]:
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"the real registry needs {', '.join(missing)} (Debian packages of these names)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    store = f"{{delete: {{enabled: true}}, filesystem: {{rootdirectory: {folder}/store}}}}"
    settings = f"version: 0.1\nstorage: {store}\n"
    (folder / "registry.yml").write_text(settings + f"http: {{addr: 127.0.0.1:{port}}}\n")
    server = subprocess.Popen(
        ["docker-registry", "serve", str(folder / "registry.yml")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        neighbour = Real(folder, port)
        neighbour.build()
        yield neighbour
    finally:
        server.terminate()
        server.wait(10)


@pytest.fixture(params=["fake", "real"])
def neighbour(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Neighbour]:
    if request.param == "fake":
        with FakeRegistry() as registry:
            yield Fake(registry)
    else:
        with real_registry(tmp_path) as found:
            yield found


def found(neighbour: Neighbour, reference: str) -> Image:
    parsed = parse_reference(f"{neighbour.host}/{NAME}{reference}")
    image = look_up(parsed, Registry(neighbour.host).manifest, "linux/amd64")
    assert isinstance(image, Image), image
    return image


def test_a_tag_gives_a_manifest_whose_bytes_have_the_digest_the_registry_names(neighbour: Neighbour) -> None:
    neighbour.push("a", "v1")
    answer = Registry(neighbour.host).manifest(NAME, "v1", ACCEPT)
    assert sha256_of(answer.body) == answer.digest
    assert found(neighbour, ":v1").manifest == answer.digest


def test_a_tag_that_moved_is_seen_and_the_pinned_digest_is_still_there(neighbour: Neighbour) -> None:
    neighbour.push("a", "v1")
    pinned = found(neighbour, ":v1").manifest
    neighbour.push("b", "v1")
    moved = found(neighbour, f":v1@{pinned}")
    assert moved.manifest == pinned
    assert moved.tag_digest not in ("", pinned)
    assert found(neighbour, ":v1").manifest == moved.tag_digest


def test_a_manifest_that_is_not_there_is_an_error_that_names_the_answer(neighbour: Neighbour) -> None:
    neighbour.push("a", "v1")
    with pytest.raises(NotThere, match="404"):
        Registry(neighbour.host).manifest(NAME, "v9", ACCEPT)


def test_an_image_that_was_deleted_is_told_from_a_registry_that_does_not_answer(neighbour: Neighbour) -> None:
    """A retention job takes the manifest away; what is gone blocks a rollback, what is down is undecided."""
    neighbour.push("a", "v1")
    digest = found(neighbour, ":v1").manifest
    neighbour.delete(digest)
    with pytest.raises(NotThere):
        Registry(neighbour.host).manifest(NAME, digest, ACCEPT)


def test_a_blob_is_asked_for_and_not_fetched(neighbour: Neighbour) -> None:
    neighbour.push("a", "v1")
    image = found(neighbour, ":v1")
    registry = Registry(neighbour.host)
    assert registry.has_blob(NAME, image.config)
    assert not registry.has_blob(NAME, "sha256:" + "0" * 64)
    assert not registry.has_blob("infer/nothing", image.config)


def test_a_blob_that_lies_behind_a_redirect_and_a_login_is_asked_for_with_head() -> None:
    body = manifest("a")
    with (
        FakeRegistry(login=("user", "password"), scheme="bearer") as front,
        FakeRegistry() as store,
    ):
        store.push_layers(NAME, body)
        credentials = Credentials("user", "password")
        front.push_layers(NAME, body)
        assert Registry(front.host, credentials=credentials).has_blob(NAME, sha256_of(b"a"))
        front.redirect = f"http://{store.host}"
        assert Registry(front.host, credentials=credentials).has_blob(NAME, sha256_of(b"a"))
    assert [headers.get(":method") for _, headers in store.requests] == ["HEAD"]


def test_two_images_are_two_digests(neighbour: Neighbour) -> None:
    neighbour.push("a", "a")
    neighbour.push("b", "b")
    images = found(neighbour, ":a"), found(neighbour, ":b")
    assert images[0].manifest != images[1].manifest
    assert all(image.config.startswith("sha256:") for image in images)


def test_a_registry_that_is_down_is_unreachable_and_no_traceback(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    waits: list[float] = []
    with pytest.raises(Unreachable, match="does not answer"):
        Registry(host, pause=waits.append).manifest(NAME, "v1", ACCEPT)
    assert len(waits) == 2


def test_the_platform_manifest_is_found_inside_an_index() -> None:
    bodies = {"linux/amd64": manifest("amd"), "linux/arm64/v8": manifest("arm")}
    with FakeRegistry() as registry:
        listed = registry.push_index(NAME, "v1", bodies)
        reference = parse_reference(f"{registry.host}/{NAME}:v1")
        fetch = Registry(registry.host).manifest
        amd, arm = (look_up(reference, fetch, platform) for platform in ("linux/amd64", "linux/arm64"))
        other = look_up(reference, fetch, "linux/s390x")
    assert isinstance(amd, Image)
    assert isinstance(arm, Image)
    assert (amd.manifest, arm.manifest) == (
        sha256_of(bodies["linux/amd64"]),
        sha256_of(bodies["linux/arm64/v8"]),
    )
    assert amd.index == arm.index == listed
    assert isinstance(other, Unknown)
    assert "linux/amd64" in other.reason


def test_a_manifest_pinned_out_of_an_index_has_not_moved_while_the_index_lists_it() -> None:
    bodies = {"linux/amd64": manifest("amd"), "linux/arm64/v8": manifest("arm")}
    pinned = sha256_of(bodies["linux/amd64"])
    with FakeRegistry() as registry:
        registry.push_index(NAME, "v1", bodies)
        reference = parse_reference(f"{registry.host}/{NAME}:v1@{pinned}")
        fetch = Registry(registry.host).manifest
        still = look_up(reference, fetch, "linux/amd64")
        registry.push_index(NAME, "v1", {"linux/amd64": manifest("newer")})
        moved = look_up(reference, fetch, "linux/amd64")
    assert isinstance(still, Image)
    assert isinstance(moved, Image)
    assert still.tag_digest == pinned
    assert moved.manifest == pinned
    assert moved.tag_digest not in ("", pinned)
