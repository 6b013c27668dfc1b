"""The weights layer and the headers of model files: what is covered, and what is damaged."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from governance.errors import Unreadable
from governance.fingerprint.gguf import read_gguf
from governance.fingerprint.model_files import excluded, role
from governance.fingerprint.safetensors import read_header
from governance.fingerprint.weights import (
    WeightFile,
    Weights,
    algorithms_of,
    from_json,
    inspect,
    layer_value,
    to_json,
    verify,
    verify_hub,
    verify_revision,
)
from governance.values import Unknown
from governance.verdict import Finding
from tests.support.models import gguf, safetensors

TWO = {"a": ("BF16", [2, 2], 8), "b": ("F32", [1], 4)}
PAIRS: dict[str, object] = {
    "general.architecture": "llama",
    "general.name": "Smol",
    "general.file_type": 3,
    "tokenizer.ggml.tokens": ["a", "b", "句"],
    "tokenizer.ggml.token_type": [1, 2, 3],
    "tokenizer.chat_template": "{{ x }}" * 100,
    "llama.rope.freq_base": 10000.0,
    "tokenizer.ggml.add_bos_token": True,
}
TENSORS = {"token_embd": (0, [4, 3]), "blk.0.attn": (3, [32, 2])}


def reader(data: bytes):  # type: ignore[no-untyped-def]
    return lambda start, length: data[start : start + length]


def test_a_safetensors_header_tells_tensors_dtypes_and_metadata() -> None:
    data = safetensors(TWO, {"format": "pt"})
    header = read_header(reader(data), len(data))
    assert (header.tensors, header.dtypes, header.metadata) == (2, {"BF16": 1, "F32": 1}, {"format": "pt"})


def damaged_safetensors() -> Mapping[str, bytes]:
    good = safetensors(TWO)
    return {
        "empty": b"",
        "cut in the header": good[:20],
        "cut in the last tensor": good[:-1],
        "longer than its tensors": good + b"x",
        "a header that is too long": (2**40).to_bytes(8, "little") + good[8:],
        "a header that is no JSON": good[:8] + b"x" * (len(good) - 8),
        "a list for a header": (2).to_bytes(8, "little") + b"[]",
        "offsets that do not fit": safetensors({"a": ("BF16", [2, 2], 7)}),
        "a pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n",
        "html": b"<html>" * 50,
    }


@pytest.mark.parametrize("what", damaged_safetensors())
def test_a_damaged_safetensors_file_is_refused(what: str) -> None:
    data = damaged_safetensors()[what]
    with pytest.raises(Unreadable):
        read_header(reader(data), len(data))


def test_tensors_that_overlap_are_refused() -> None:
    good = safetensors(TWO)
    bad = good.replace(b"[8, 12]", b"[4,  8]")
    with pytest.raises(Unreadable, match=r"overlap|after the last"):
        read_header(reader(bad), len(bad))


def test_a_gguf_header_tells_architecture_and_quantisation() -> None:
    data = gguf(PAIRS, TENSORS)
    found = read_gguf(reader(data), len(data))
    assert (found.architecture, found.quantisation, found.version) == ("llama", "Q4_1", 3)
    assert found.types == {"F32": 1, "Q4_1": 1}
    assert found.pairs["llama.rope.freq_base"] == 10000.0
    assert found.pairs["tokenizer.ggml.add_bos_token"] is True


def test_long_texts_and_arrays_of_a_gguf_are_kept_as_digests() -> None:
    data = gguf(PAIRS, TENSORS)
    found = read_gguf(reader(data), len(data)).pairs
    other = gguf({**PAIRS, "tokenizer.ggml.tokens": ["a", "c", "句"]}, TENSORS)
    again = read_gguf(reader(other), len(other)).pairs
    assert str(found["tokenizer.chat_template"]).startswith("sha256:")
    assert found["tokenizer.ggml.tokens"] != again["tokenizer.ggml.tokens"]
    assert found["tokenizer.ggml.token_type"] == again["tokenizer.ggml.token_type"]


def damaged_gguf() -> Mapping[str, bytes]:
    good = gguf(PAIRS, TENSORS)
    return {
        "empty": b"",
        "another magic": b"GGML" + good[4:],
        "an old version": good[:4] + b"\x01\0\0\0" + good[8:],
        "big-endian": good[:4] + b"\0\0\0\x03" + good[8:],
        "cut in a key": good[:40],
        "cut in the tensors": good[:-40],
        "a count that cannot be": good[:16] + b"\xff" * 8 + good[24:],
    }


@pytest.mark.parametrize("what", damaged_gguf())
def test_a_damaged_gguf_file_is_refused(what: str) -> None:
    data = damaged_gguf()[what]
    with pytest.raises(Unreadable):
        read_gguf(reader(data), len(data))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 260))
def test_no_bytes_make_a_header_reader_crash(noise: bytes, at: int) -> None:
    """Model files come from strangers."""
    for good, read in ((gguf(PAIRS, TENSORS), read_gguf), (safetensors(TWO), read_header)):
        data = good[:at] + noise + good[at + len(noise) :]
        try:
            read(reader(data), len(data))
        except Unreadable:
            continue


FILES = [
    ("model-00001-of-00002.safetensors", "weights", False),
    ("model.safetensors.index.json", "index", False),
    ("Model.Q4_1.GGUF", "weights", False),
    ("tokenizer.json", "tokenizer", False),
    ("tokenizer_config.json", "tokenizer", False),
    ("merges.txt", "tokenizer", False),
    ("generation_config.json", "generation config", False),
    ("chat_template.jinja", "chat template", False),
    ("adapter_config.json", "adapter", False),
    ("modeling_x.py", "code", False),
    ("preprocessor_config.json", "preprocessor", False),
    ("something.new", "other", False),
    ("README.md", "other", True),
    (".gitattributes", "other", True),
    ("assets/logo.png", "other", True),
    ("optimizer.pt", "weights", True),
    ("LICENSE", "other", True),
    (".cache/", "other", True),
    ("original/", "other", False),
]


@pytest.mark.parametrize(("name", "expected", "out"), FILES, ids=[row[0] for row in FILES])
def test_a_file_counts_unless_the_table_says_that_no_engine_reads_it(
    name: str, expected: str, out: bool
) -> None:
    assert excluded(name) is out
    assert name.endswith("/") or role(name) == expected


def look(files: Mapping[str, bytes]) -> tuple[dict[str, str], list[Finding]]:
    sizes = [(name, len(data)) for name, data in files.items()]
    return inspect(sizes, lambda name, start, length: files[name][start : start + length])


def test_the_headers_of_a_folder_tell_facts() -> None:
    facts, found = look(
        {
            "config.json": b'{"torch_dtype": "bfloat16", "architectures": ["LlamaForCausalLM"]}',
            "model.safetensors": safetensors({"a": ("BF16", [1], 2)}),
        }
    )
    assert facts == {"config dtype": "bfloat16", "architecture": "LlamaForCausalLM", "dtype": "BF16"}
    assert found == []


def test_a_missing_shard_a_pointer_and_a_cut_file_are_found() -> None:
    weights = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 99\n"
    _, found = look(
        {
            "model.safetensors.index.json": json.dumps(weights).encode(),
            "model-1.safetensors": safetensors(TWO)[:-3],
            "tokenizer.json": pointer,
            "x.gguf": b"GGUF",
        }
    )
    assert sorted((f.code, f.path) for f in found) == [
        ("TL960", "model.safetensors.index.json"),
        ("TL963", "tokenizer.json"),
        ("TL964", "model-1.safetensors"),
        ("TL965", "x.gguf"),
    ]


def test_an_index_in_a_subfolder_names_files_beside_it() -> None:
    data = json.dumps({"weight_map": {"a": "m.safetensors"}}).encode()
    _, found = look({"sub/m.safetensors.index.json": data, "sub/m.safetensors": safetensors(TWO)})
    assert found == []


MODEL = Weights(
    (
        WeightFile("config.json", 2, "blake3:cc", ""),
        WeightFile("model.safetensors", 10, "blake3:aa", "sha256:bb"),
        WeightFile("notes.bin2", 1, "blake3:dd"),
    )
)


@pytest.mark.parametrize(
    ("declared", "codes"),
    [
        ({"config.json": "blake3:cc", "model.safetensors": "sha256:bb"}, []),
        ({"config.json": "blake3:cc", "model.safetensors": "blake3:xx"}, ["TL961"]),
        ({"config.json": "sha256:cc", "model.safetensors": "blake3:aa"}, ["TL961"]),
        ({"config.json": "blake3:cc", "model.safetensors": "blake3:aa", "gone": "sha256:0"}, ["TL960"]),
        ({"model.safetensors": "blake3:aa"}, ["TL962"]),
        ({}, []),
    ],
)
def test_a_manifest_is_verified_file_by_file(declared: dict[str, str], codes: list[str]) -> None:
    assert [f.code for f in verify(declared, MODEL)] == codes


def test_the_algorithms_of_a_manifest_are_computed_beside_blake3() -> None:
    assert algorithms_of({"a": "sha256:1", "b": "blake3:2"}) == ("sha256",)


def test_a_blob_that_is_not_what_the_hub_named_is_found() -> None:
    sha, git = "a" * 64, "b" * 40
    digests = {"m": {"sha256": f"sha256:{sha}"}, "t": {"git": "git:" + "c" * 40}, "x": {}}
    assert [f.key for f in verify_hub({"m": sha, "t": git, "x": "odd-name"}, digests)] == ["t"]


def test_a_revision_that_moved_or_is_gone_is_told() -> None:
    one, two = "1" * 40, "2" * 40
    assert verify_revision("a/b", "main", then=one, now=one) == ()
    assert [f.code for f in verify_revision("a/b", "main", then=one, now=two)] == ["TL968"]
    assert [f.code for f in verify_revision("a/b", one, now=Unknown("no such revision"))] == ["TL969"]


def test_damage_makes_the_layer_unknown() -> None:
    assert isinstance(layer_value(Weights(MODEL.files, damage=("cut off",))), Unknown)
    assert isinstance(layer_value(Weights(())), Unknown)


def test_a_commit_of_a_hub_names_the_content_where_the_files_are_not() -> None:
    one, two = (layer_value(Weights((), "a/b", c * 40)) for c in "12")
    assert not isinstance(one, Unknown)
    assert one != two


def test_a_name_is_part_of_the_layer() -> None:
    renamed = Weights((WeightFile("other.safetensors", 10, "blake3:aa"),))
    assert layer_value(renamed) != layer_value(Weights((WeightFile("model.safetensors", 10, "blake3:aa"),)))


def test_sha256_beside_blake3_moves_nothing() -> None:
    """It is computed when a manifest or a hub speaks it; two captures must still compare."""
    plain = Weights(tuple(WeightFile(f.name, f.size, f.blake3) for f in MODEL.files))
    assert layer_value(plain) == layer_value(MODEL)


def test_a_record_gives_the_weights_back() -> None:
    full = Weights(MODEL.files, "a/b", "1" * 40, (("dtype", "BF16"),), ("cut off",))
    assert from_json(to_json(full)) == full
