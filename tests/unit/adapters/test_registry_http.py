"""Talking to a registry: credentials, tokens, busy answers, lies, and that no secret shows."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path

import pytest

from governance.adapters.registry import Registry, is_local
from governance.adapters.registry_login import IDENTITY_TOKEN, Credentials, credential_files, credentials_for
from governance.errors import Unreachable
from governance.fingerprint.image import ACCEPT, parse_reference
from governance.fingerprint.registry import look_up
from governance.values import Unknown
from tests.support.fake_registry import FakeRegistry, digest_of, manifest

NAME = "team/app"
LOGIN = ("reader", "s3cret-of-the-test")
GOOD = Credentials(*LOGIN)
WRONG = Credentials("reader", "wrong-one-of-the-test")


@pytest.mark.parametrize("scheme", ["basic", "bearer"])
def test_credentials_open_a_registry_that_asks_for_them(scheme: str) -> None:
    with FakeRegistry(login=LOGIN, scheme=scheme) as registry:
        digest = registry.push(NAME, "v1", manifest("a"))
        client = Registry(registry.host, credentials=GOOD)
        assert client.manifest(NAME, "v1", ACCEPT).digest == digest
        assert client.manifest(NAME, "v1", ACCEPT).digest == digest


def test_a_public_image_behind_a_token_service_needs_no_credentials() -> None:
    """Docker Hub asks everybody for a token."""
    with FakeRegistry(scheme="bearer") as registry:
        registry.push(NAME, "v1", manifest("a"))
        assert Registry(registry.host).manifest(NAME, "v1", ACCEPT).body == manifest("a")
        token = next(path for path, _ in registry.requests if path.startswith("/token"))
        assert "scope=repository%3Ateam%2Fapp%3Apull" in token


@pytest.mark.parametrize("scheme", ["basic", "bearer"])
@pytest.mark.parametrize("credentials", [None, WRONG])
def test_a_refusal_names_the_login_command_and_no_secret(
    scheme: str, credentials: Credentials | None
) -> None:
    with FakeRegistry(login=LOGIN, scheme=scheme) as registry:
        registry.push(NAME, "v1", manifest("a"))
        with pytest.raises(Unreachable) as caught:
            Registry(registry.host, credentials=credentials, pause=lambda _: None).manifest(
                NAME, "v1", ACCEPT
            )
    text = f"{caught.value} {caught.value.hint} {credentials!r}"
    assert f"docker login {registry.host}" in text
    assert "wrong-one" not in text


def test_a_busy_registry_is_asked_again_and_not_for_ever() -> None:
    with FakeRegistry() as registry:
        registry.push(NAME, "v1", manifest("a"))
        registry.busy = 2
        client = Registry(registry.host, pause=lambda _: None)
        assert client.manifest(NAME, "v1", ACCEPT).body == manifest("a")
        registry.busy = 3
        with pytest.raises(Unreachable, match="503"):
            client.manifest(NAME, "v1", ACCEPT)


def test_every_request_names_the_types_it_reads() -> None:
    """Without that header a registry answers 404, or with a manifest of another type."""
    with FakeRegistry() as registry:
        registry.push(NAME, "v1", manifest("a"))
        Registry(registry.host).manifest(NAME, "v1", ACCEPT)
        accept = registry.requests[-1][1]["accept"]
    assert "application/vnd.oci.image.index.v1+json" in accept
    assert "application/vnd.docker.distribution.manifest.v2+json" in accept


def test_a_registry_that_sends_other_bytes_is_not_believed() -> None:
    with FakeRegistry() as registry:
        digest = registry.push(NAME, "v1", manifest("a"))
        registry.lie = manifest("b")
        fetch = Registry(registry.host).manifest
        for reference in (f"{registry.host}/{NAME}@{digest}", f"{registry.host}/{NAME}:v1"):
            found = look_up(parse_reference(reference), fetch, "linux/amd64")
            assert isinstance(found, Unknown)
            assert digest_of(manifest("b"))[:19] in found.reason


@pytest.mark.parametrize(
    "body",
    [
        b"<html>login</html>",
        b"[]",
        b'{"schemaVersion": 1}',
        b'{"schemaVersion": 2, "mediaType": "text/html"}',
    ],
)
def test_what_is_no_manifest_is_unknown(body: bytes) -> None:
    with FakeRegistry() as registry:
        registry.push(NAME, "v1", manifest("a"))
        registry.lie = body
        registry.claimed_digest = digest_of(body)
        reference = parse_reference(f"{registry.host}/{NAME}:v1")
        assert isinstance(look_up(reference, Registry(registry.host).manifest, "linux/amd64"), Unknown)


def test_a_body_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeRegistry() as registry:
        registry.push(NAME, "v1", manifest("a"))
        registry.lie = b" " * (9 << 20)
        with pytest.raises(Unreachable, match="more than 8 MiB"):
            Registry(registry.host).manifest(NAME, "v1", ACCEPT)


@pytest.mark.parametrize(
    ("host", "local"),
    [("localhost", True), ("localhost:5000", True), ("127.0.0.1:5000", True), ("[::1]:5000", True),
     ("127.0.0.9", True), ("registry.example", False), ("registry.example:5000", False),
     ("localhost.example", False), ("[2001:db8::1]:5000", False)],
)  # fmt: skip
def test_plain_http_is_for_this_machine(host: str, local: bool) -> None:
    assert is_local(host) is local
    assert Registry(host).base.startswith("http:" if local else "https:")


def auth(user: str, password: str) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}


R = "r.example"
HUB = "https://index.docker.io/v1/"
CONFIGS = [
    ("by host", {"auths": {R: auth("u", "p")}}, R, ("u", "p")),
    ("by host with scheme", {"auths": {"https://r.example": auth("u", "p")}}, R, ("u", "p")),
    ("docker hub by its old key", {"auths": {HUB: auth("u", "p")}}, "docker.io", ("u", "p")),
    ("the longest path", {"auths": {R: auth("h", "1"), R + "/team": auth("t", "2")}}, R, ("t", "2")),
    ("a password with a colon", {"auths": {R: auth("u", "a:b")}}, R, ("u", "a:b")),
    ("an identity token", {"auths": {R: {"identitytoken": "tt"}}}, R, ("<token>", "tt")),
    ("another host", {"auths": {"other.example": auth("u", "p")}}, R, None),
    ("an empty entry", {"auths": {R: {}}}, R, None),
    ("nonsense", {"auths": {R: {"auth": "%%%"}}}, R, None),
    ("a helper that is not installed", {"credHelpers": {R: "none-of-this"}}, R, None),
    ("a helper with a path", {"credsStore": "../../bin/sh"}, R, None),
]  # fmt: skip


@pytest.mark.parametrize(("what", "config", "host", "expected"), CONFIGS, ids=[row[0] for row in CONFIGS])
def test_credentials_are_read_as_docker_reads_them(
    tmp_path: Path, what: str, config: object, host: str, expected: tuple[str, str] | None
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    found = credentials_for(host, NAME, iter([tmp_path / "none.json", path]))
    assert (None if found is None else (found.user, found.password)) == expected


def test_a_helper_is_asked_for_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = tmp_path / "docker-credential-test"
    helper.write_text('#!/bin/sh\nread host\nprintf \'{"Username": "u", "Secret": "of %s"}\' "$host"\n')
    helper.chmod(helper.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"credHelpers": {"r.example": "test"}}))
    found = credentials_for("r.example", NAME, iter([config]))
    assert found is not None
    assert (found.user, found.password) == ("u", "of r.example")


def test_the_places_of_credentials_follow_the_environment() -> None:
    env = {"HOME": "/h", "DOCKER_CONFIG": "/d", "XDG_RUNTIME_DIR": "/x", "REGISTRY_AUTH_FILE": "/r.json"}
    assert list(map(str, credential_files(env))) == [
        "/r.json", "/x/containers/auth.json", "/d/config.json", "/h/.config/containers/auth.json",
    ]  # fmt: skip


def test_an_identity_token_is_exchanged_and_never_sent_to_the_registry() -> None:
    with FakeRegistry(login=("identity", "refresh-of-the-test"), scheme="bearer") as registry:
        registry.push(NAME, "v1", manifest("a"))
        client = Registry(registry.host, credentials=Credentials(IDENTITY_TOKEN, "refresh-of-the-test"))
        assert client.manifest(NAME, "v1", ACCEPT).body == manifest("a")
        assert "refresh-of-the-test" not in str(registry.requests)
        assert ("/token", {"form": "refresh_token"}) in registry.requests


def test_credentials_do_not_follow_a_redirect_to_another_host() -> None:
    with FakeRegistry(login=LOGIN, scheme="basic") as first, FakeRegistry() as second:
        second.push(NAME, "v1", manifest("a"))
        client = Registry(first.host, credentials=GOOD)
        first.push(NAME, "v1", manifest("a"))
        client.manifest(NAME, "v1", ACCEPT)
        first.redirect = f"http://{second.host}"
        assert client.manifest(NAME, "v1", ACCEPT).body == manifest("a")
        assert second.requests
        assert all("authorization" not in headers for _, headers in second.requests)


def test_a_token_service_over_plain_http_gets_no_credentials() -> None:
    client = Registry("registry.example", credentials=GOOD)
    assert not client._may_ask("http://tokens.example/token")
    assert not client._may_ask("ftp://tokens.example/token")
    assert client._may_ask("https://tokens.example/token")
