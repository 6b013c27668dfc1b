"""References and inspect output: what is content and what is only a name."""

from __future__ import annotations

import json

import pytest

from governance.errors import Usage
from governance.fingerprint.image import (
    Image,
    Mount,
    Reference,
    choose_platform,
    engine_version_differs,
    findings,
    from_inspect,
    from_json,
    layer_value,
    parse_reference,
    platform_of_machine,
    same_image,
    to_json,
    with_mounts,
)
from governance.values import Unknown

D1, D2, D3 = (f"sha256:{c * 64}" for c in "123")

GOOD = [
    ("vllm", Reference("docker.io", "library/vllm", "latest")),
    ("vllm/vllm-openai:v0.8.4", Reference("docker.io", "vllm/vllm-openai", "v0.8.4")),
    ("docker.io/vllm", Reference("docker.io", "library/vllm", "latest")),
    ("index.docker.io/a/b", Reference("docker.io", "a/b", "latest")),
    ("localhost/a", Reference("localhost", "a", "latest")),
    ("localhost:5000/a:b", Reference("localhost:5000", "a", "b")),
    ("r.example:5000/a/b/c", Reference("r.example:5000", "a/b/c", "latest")),
    ("[2001:db8::1]:5000/a:b", Reference("[2001:db8::1]:5000", "a", "b")),
    (f"r.example/a:t@{D1}", Reference("r.example", "a", "t", D1)),
    (f"r.example/a@{D1}", Reference("r.example", "a", "", D1)),
    ("docker://r.example/a", Reference("r.example", "a", "latest")),
    ("a__b/c-d.e", Reference("docker.io", "a__b/c-d.e", "latest")),
]
BAD = [
    "",
    "A/b",
    "r.example/a:",
    "r.example/a:-x",
    "a@sha256:12",
    "a@md5:1",
    "r.example/",
    "r.example//a",
    "a b",
    "r_x.example/a",
    "[::1/a",
]


@pytest.mark.parametrize(("text", "expected"), GOOD, ids=[row[0][:40] for row in GOOD])
def test_a_reference_is_read_as_docker_reads_it(text: str, expected: Reference) -> None:
    assert parse_reference(text) == expected
    assert parse_reference(str(expected)) == expected


@pytest.mark.parametrize("text", BAD)
def test_a_bad_reference_is_refused_and_named(text: str) -> None:
    with pytest.raises(Usage, match="is not an image reference") as caught:
        parse_reference(text)
    assert caught.value.hint


def test_only_a_digest_pins() -> None:
    assert not parse_reference("r.example/a:v1").pinned
    assert parse_reference(f"r.example/a@{D1}").pinned


INDEX = {
    "manifests": [
        {"digest": D1, "platform": {"os": "linux", "architecture": "amd64"}},
        {"digest": D2, "platform": {"os": "linux", "architecture": "arm64", "variant": "v8"}},
        {"digest": D3, "platform": {"os": "unknown", "architecture": "unknown"}},
        "nonsense",
    ]
}


@pytest.mark.parametrize(
    ("platform", "expected"),
    [("linux/amd64", D1), ("linux/arm64", D2), ("linux/arm64/v8", D2), ("linux/arm64/v7", None)],
)
def test_one_manifest_of_an_index_is_for_a_platform(platform: str, expected: str | None) -> None:
    found = choose_platform(INDEX, platform)
    if expected is None:
        assert isinstance(found, Unknown)
        assert "linux/amd64, linux/arm64/v8" in found.reason
    else:
        assert found == expected


def test_two_manifests_for_one_platform_are_unknown_and_an_exact_variant_decides() -> None:
    entries = [
        {"digest": D1, "platform": {"os": "linux", "architecture": "arm", "variant": "v6"}},
        {"digest": D2, "platform": {"os": "linux", "architecture": "arm", "variant": "v7"}},
    ]
    assert isinstance(choose_platform({"manifests": entries}, "linux/arm"), Unknown)
    assert choose_platform({"manifests": entries}, "linux/arm/v7") == D2


def test_a_machine_has_its_registry_name() -> None:
    assert platform_of_machine("x86_64") == "linux/amd64"
    assert platform_of_machine("aarch64") == "linux/arm64/v8"


DOCKER = {
    "Id": D3,
    "RepoTags": ["r.example/a:v1"],
    "RepoDigests": [f"r.example/a@{D1}", f"mirror.example/a@{D1}"],
    "Os": "linux",
    "Architecture": "amd64",
    "Config": {"Labels": {"org.opencontainers.image.version": "0.8.4"}},
}


def test_docker_inspect_reports_digests_and_does_not_verify_them() -> None:
    found = from_inspect(json.dumps([DOCKER]).encode())
    assert found == Image(
        "r.example/a:v1",
        platform="linux/amd64",
        config=D3,
        reported=(D1,),
        labels={"org.opencontainers.image.version": "0.8.4"},
    )
    assert isinstance(found, Image)
    assert layer_value(found) == {"reported": [D1]}


def test_a_running_container_tells_the_image_and_the_mounts() -> None:
    container = {
        "State": {},
        "Id": "c" * 64,
        "Image": D3,
        "ImageDigest": D1,
        "Config": {"Image": "r.example/a:v1"},
    }
    mounts = [{"Source": "/host/x.py", "Destination": "/usr/lib/x.py"}]
    found = from_inspect(json.dumps([{**container, "Mounts": mounts}]).encode())
    assert isinstance(found, Image)
    assert (found.reported, found.config, found.mounts) == ((D1,), D3, (Mount("/usr/lib/x.py"),))
    assert isinstance(layer_value(found), Unknown)
    assert not isinstance(layer_value(with_mounts(found, [Mount("/usr/lib/x.py", D2)])), Unknown)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"[1]", b"{}", json.dumps([DOCKER, DOCKER]).encode(), b'{"RepoDigests": [5]}']
)
def test_what_is_no_inspect_output_of_one_pulled_image_is_unknown(data: bytes) -> None:
    assert isinstance(from_inspect(data), Unknown)


SAME = [
    ("one manifest", Image("a", manifest=D1), Image("b", manifest=D1), True),
    ("two manifests", Image("a", manifest=D1), Image("a", manifest=D2), False),
    ("a reported index", Image("a", manifest=D1, index=D2), Image("a", reported=(D2,)), True),
    ("a reported manifest", Image("a", manifest=D1, index=D2), Image("a", reported=(D1,)), True),
    ("neither of the two", Image("a", manifest=D1, index=D2), Image("a", reported=(D3,)), False),
    ("an index not known", Image("a", manifest=D1), Image("a", reported=(D3,)), None),
    ("one config", Image("a", config=D3, manifest=D1), Image("a", config=D3, reported=(D2,)), True),
    ("reports in common", Image("a", reported=(D1, D2)), Image("a", reported=(D2, D3)), True),
]


@pytest.mark.parametrize(("what", "left", "right", "expected"), SAME, ids=[row[0] for row in SAME])
def test_two_views_of_an_image_are_compared_by_what_both_know(
    what: str, left: Image, right: Image, expected: bool | None
) -> None:
    for found in (same_image(left, right), same_image(right, left)):
        assert isinstance(found, Unknown) if expected is None else found is expected


def test_findings_tell_tags_that_are_no_pins_and_tags_that_moved() -> None:
    tag, latest = parse_reference("r.example/a:v1"), parse_reference("r.example/a")
    pinned = parse_reference(f"r.example/a:v1@{D1}")
    assert [f.code for f in findings(tag, Unknown("down"))] == ["TL971"]
    assert "latest" in findings(latest, Unknown("down"))[0].message
    assert [f.code for f in findings(pinned, Image("x", manifest=D1, tag_digest=D2))] == ["TL970"]
    assert findings(pinned, Image("x", manifest=D1, tag_digest=D1)) == ()
    assert [f.code for f in findings(pinned, Image("x", manifest=D1, mounts=(Mount("/a"),)))] == ["TL972"]


def test_an_engine_that_is_another_version_than_declared_is_found() -> None:
    (finding,) = engine_version_differs("0.8.4", "0.7.1", engine="vllm", source="image label")
    assert (finding.code, finding.blocks) == ("TL956", True)
    assert engine_version_differs("0.8.4", "0.8.4.0", engine="vllm", source="x") == ()
    assert engine_version_differs("", "0.8.4", engine="vllm", source="x") == ()


def test_a_record_gives_the_image_back() -> None:
    image = Image("r", D1, D2, "linux/amd64", D3, (D1,), D2, (Mount("/a", D3),), {"k": "v"})
    assert from_json(to_json(image)) == image
