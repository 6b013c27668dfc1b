"""What leaves the repository: attestation, bill of materials, notes, and what is attached to an image."""

from __future__ import annotations

import base64
import importlib.resources
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from referencing import Registry as Schemas
from referencing import Resource

from governance.adapters import ssh, sshsig
from governance.adapters.registry import Registry
from governance.adapters.registry_push import referrers
from governance.errors import Unreachable, Unreadable
from governance.fingerprint.packages import Package, Packages
from governance.fingerprint.record import Capture
from governance.fingerprint.weights import WeightFile, Weights
from governance.release import attestation, exporting
from governance.release import record as records
from governance.release.attaching import Attached, attach
from governance.release.record import Record
from governance.release.releases import since_parent
from governance.release.verifying import SIGNATURE_NAMESPACE
from governance.report.release_notes import render
from governance.review.statement import signed_bytes
from governance.verdict import Outcome
from tests.contracts.test_registry import NAME, real_registry
from tests.support.fake_registry import FakeRegistry, digest_of, manifest
from tests.support.governed import BASE, FILES, governed, place
from tests.support.released import NOON, TOOL, WITH_SUITE, released, stamp, terms
from tests.support.repos import Repo
from tests.support.reviewed import PROMPT, SAMPLING, key_of, public_key

DIGEST = digest_of(manifest("a"))
WEIGHTS = Weights((WeightFile("model.safetensors", 3, "blake3:" + "1" * 64, "sha256:" + "2" * 64),))
PACKAGES = Packages("environment", (Package("torch", "2.5.1+cu124"), Package("vllm", "0.7.3")))
CAPTURE = Capture(stamp(NOON), TOOL, weights=WEIGHTS, packages=PACKAGES)


def with_image(path: Path, reference: str) -> Repo:
    base = f"{BASE}image: {{ref: '{reference}'}}\n"
    return governed(path, {**WITH_SUITE, "configs/base/qwen.yaml": base})


def exported(repo: Repo, record: Record, kind: str = "attestation") -> Any:
    return json.loads(exporting.exported(record, place(repo), kind, None).data)


def test_a_statement_names_image_record_commit_and_fingerprint(tmp_path: Path) -> None:
    repo = with_image(tmp_path, f"registry.example/infer/vllm:v1@{DIGEST}")
    record = released(repo)
    tree = exported(repo, record)
    assert (tree["_type"], tree["predicateType"]) == (
        "https://in-toto.io/Statement/v1",
        "https://tierlock.dev/release/v1",
    )
    assert tree["subject"] == [
        {"name": "registry.example/infer/vllm:v1", "digest": {"sha256": DIGEST.removeprefix("sha256:")}},
        {
            "name": record.path,
            "digest": {"sha256": records.digest_of((repo.path / record.path).read_bytes())},
        },
        {"name": "summarizer@v1", "digest": {"tl1-sha256": record.fingerprint}},
        {"name": "commit", "digest": {"gitCommit": record.commit}},
    ]
    assert tree["predicate"]["layers"]["base"] == record.layers["base"]
    assert tree["predicate"]["notCovered"] == ["effective", "weights", "packages", "platform", "image"]


def test_what_names_the_host_stays_at_home(tmp_path: Path) -> None:
    repo = governed(tmp_path, WITH_SUITE)
    data = exporting.exported(released(repo, capture=CAPTURE), place(repo), "attestation", None).data
    assert b"torch" not in data
    assert b'"capture":' not in data


def test_a_signed_attestation_is_a_dsse_envelope_that_ssh_keygen_verifies(tmp_path: Path) -> None:
    repo = governed(tmp_path, WITH_SUITE)
    record = released(repo)
    made = exporting.exported(
        record, place(repo), "attestation",
        lambda data: ssh.sign(data, str(key_of("reviewer-a")), SIGNATURE_NAMESPACE),
    )  # fmt: skip
    tree = json.loads(made.data)
    payload = base64.b64decode(tree["payload"], validate=True)
    assert payload == attestation.payload(record)
    (one,) = tree["signatures"]
    assert one["keyid"] == ssh.fingerprint(public_key("reviewer-a"))
    armoured = sshsig.armour(base64.b64decode(one["sig"], validate=True))
    key = public_key("reviewer-a")
    assert ssh.verify(signed_bytes(payload), armoured, key, SIGNATURE_NAMESPACE)
    assert not ssh.verify(signed_bytes(payload + b" "), armoured, key, SIGNATURE_NAMESPACE)


def schemas() -> tuple[dict[str, Any], Schemas[Any]]:
    """The CycloneDX 1.6 schema as its own Python library ships it, and the schemas it refers to."""
    folder = importlib.resources.files("cyclonedx.schema") / "_res"
    found = {
        name: json.loads((folder / f"{name}.SNAPSHOT.schema.json").read_text("utf-8"))
        for name in ("bom-1.6", "spdx", "jsf-0.82")
    }
    pairs = [(one["$id"], Resource.from_contents(one)) for one in found.values()]
    return found["bom-1.6"], Schemas().with_resources(pairs)


@pytest.mark.parametrize("captured", [True, False])
def test_the_bill_of_materials_is_what_the_schema_of_cyclonedx_says(tmp_path: Path, captured: bool) -> None:
    from jsonschema import Draft7Validator

    repo = with_image(tmp_path, f"registry.example/infer/vllm:v1@{DIGEST}")
    tree = exported(repo, released(repo, capture=CAPTURE if captured else None), "bom")
    schema, registry = schemas()
    assert [str(error) for error in Draft7Validator(schema, registry=registry).iter_errors(tree)] == []
    parts = {part["bom-ref"]: part for part in tree["components"]}
    assert parts["model:Qwen/Qwen2.5-7B-Instruct"]["type"] == "machine-learning-model"
    assert parts["engine:vllm"]["version"] == "0.7.3"
    assert parts["image"]["version"] == DIGEST
    assert ("pkg:pypi/torch@2.5.1%2Bcu124" in parts) == captured
    assert tree["compositions"][0]["aggregate"] == ("complete" if captured else "incomplete")
    assert set(tree["dependencies"][0]["dependsOn"]) == set(parts)
    said = {one["name"]: one["value"] for one in tree["metadata"]["component"]["properties"]}
    assert said["tierlock:sampling:temperature"] == "0.2"
    assert said["tierlock:layer:platform"] == "unknown: not captured"


def test_the_same_release_is_exported_in_the_same_bytes(tmp_path: Path) -> None:
    repo = governed(tmp_path, WITH_SUITE)
    record = released(repo, capture=CAPTURE)
    for kind in ("attestation", "bom"):
        one, two = (exporting.exported(record, place(repo), kind, None).data for _ in range(2))
        assert one == two


def attached(repo: Repo, record: Record) -> Attached:
    made = exporting.exported(record, place(repo), "attestation", None)
    return attach(record, made, lambda reference: Registry(reference.host, pause=lambda _: None))


@pytest.mark.parametrize("lists", [True, False])
def test_an_attestation_is_found_from_the_image(tmp_path: Path, lists: bool) -> None:
    with FakeRegistry() as fake:
        fake.lists_referrers = lists
        image = fake.push(NAME, "v1", manifest("a"))
        repo = with_image(tmp_path, f"{fake.host}/{NAME}:v1@{image}")
        record = released(repo)
        fake.push(NAME, "v1", manifest("b"))  # the tag has moved: the digest is what counts
        done = attached(repo, record)
        assert attached(repo, record).digest == done.digest
        (found,) = referrers(Registry(fake.host), NAME, image)
        assert (found["digest"], found["artifactType"]) == (done.digest, "application/vnd.in-toto+json")
        assert done.listed == ("the registry" if lists else "tag " + image.replace(":", "-"))
        artifact = json.loads(fake.blobs[(NAME, done.digest)])
        layer = artifact["layers"][0]
        assert fake.uploads[(NAME, layer["digest"])] == attestation.payload(record)
        assert artifact["subject"]["digest"] == image
        assert layer["annotations"]["in-toto.io/predicate-type"] == attestation.PREDICATE


def test_an_attestation_lies_at_a_real_image_in_a_real_registry(tmp_path: Path) -> None:
    """docker-registry keeps no list of referrers: they are found under the tag of the digest."""
    (tmp_path / "registry").mkdir()
    with real_registry(tmp_path / "registry") as there:
        there.push("a", "v1")
        image = Registry(there.host).manifest(NAME, "v1", "application/vnd.oci.image.manifest.v1+json").digest
        repo = with_image(tmp_path / "repo", f"{there.host}/{NAME}:v1@{image}")
        record = released(repo)
        there.push("b", "v1")
        done = attached(repo, record)
        assert attached(repo, record).digest == done.digest
        assert [one["digest"] for one in referrers(Registry(there.host), NAME, image)] == [done.digest]


def test_an_image_that_is_gone_or_named_by_a_tag_alone_has_nothing_attached(tmp_path: Path) -> None:
    with FakeRegistry() as fake:
        gone = with_image(tmp_path / "gone", f"{fake.host}/{NAME}@{DIGEST}")
        record = released(gone)
        with pytest.raises(Unreachable, match="404"):
            attached(gone, record)
        assert not fake.uploads
        with pytest.raises(Unreadable, match="by a tag alone"):
            attached(gone, replace(record, image=f"{fake.host}/{NAME}:v1"))
    plain = governed(tmp_path / "plain", WITH_SUITE)
    with pytest.raises(Unreadable, match="has no image"):
        attached(plain, released(plain))


def test_a_release_that_is_not_true_is_not_exported(tmp_path: Path) -> None:
    repo = governed(tmp_path, WITH_SUITE)
    record = released(repo)
    source = place(repo).state("worktree").source
    assert exporting.refused(record, place(repo), source) is None
    (repo.path / record.snapshots[0].path).unlink()
    report = exporting.refused(record, place(repo), source)
    assert report is not None
    assert report.outcome is Outcome.BLOCK


def test_notes_tell_what_moved_on_what_evidence_and_keep_texts_back(tmp_path: Path) -> None:
    repo = governed(tmp_path, WITH_SUITE)
    released(repo, capture=CAPTURE)
    sampling = FILES[SAMPLING].replace("temperature: 0.2", "temperature: 0.1")
    repo.commit("cooler", {SAMPLING: sampling, PROMPT: "A secret instruction.\n"})
    newer = replace(CAPTURE, packages=Packages("environment", (Package("vllm", "0.7.3"),)))
    record = released(repo, said=terms(capture=newer, reason="fewer | inventions <b>"))
    text = render(record, since_parent(record, place(repo).state("worktree").source, place(repo)))
    assert text.startswith("# summarizer v2\n")
    for line in (
        "> fewer &#124; inventions &#60;b&#62;",
        "## What moved since v1",
        "Risk: **output**",
        "| smoke `",
        "| review | author-a | a test of its own |",
        "- platform: not captured",
        "tierlock diff summarizer@v1 summarizer@v2",
    ):
        assert line in text, text
    assert "`temperature` | `0.2` | `0.1` |" in text
    assert "packages `torch`" in text
    assert "secret instruction" not in text


def test_notes_of_a_first_release_say_what_it_is(tmp_path: Path) -> None:
    repo = governed(tmp_path, WITH_SUITE)
    record = released(repo)
    text = render(record, since_parent(record, place(repo).state("worktree").source, place(repo)))
    assert "## What it is" in text
    assert "| sampling | `factual` |" in text
