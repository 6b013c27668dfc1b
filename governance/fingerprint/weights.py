"""The weights layer: every file of a model that shapes answers, with size and digest.

- The layer's digest is taken from BLAKE3 digests (one algorithm, so two captures always compare); SHA-256 is
  computed beside it where a manifest or a hub speaks it.
- Names are part of the digest. Links of a hub cache are followed; where the bytes lie means nothing.
- A pointer, a cut-off file, a missing shard or a link to nothing is a finding, and the layer is unknown: what
  is loaded is not what was named.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from governance.errors import Unreadable
from governance.fingerprint.gguf import Gguf, read_gguf
from governance.fingerprint.model_files import role
from governance.fingerprint.notices import notice
from governance.fingerprint.safetensors import read_header
from governance.values import Json, Tree, Unknown

if TYPE_CHECKING:
    from governance.verdict import Finding

ReadFile = Callable[[str, int, int], bytes]
"""Reads up to `length` bytes of the named file from `start`."""

LFS: Final = b"version https://git-lfs.github.com/spec/v1\n"
SMALL: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One file: name, size, and its digests, each naming its algorithm. `blake3` is always there."""

    name: str
    size: int
    blake3: str
    sha256: str = ""

    @property
    def role(self) -> str:
        return role(self.name)

    def digest(self, algorithm: str) -> str:
        """The digest by this algorithm, empty when it was not computed."""
        return {"blake3": self.blake3, "sha256": self.sha256}.get(algorithm, "")


@dataclass(frozen=True, slots=True)
class Weights:
    """All covered files of one model, sorted by name, and what their headers say.

    Without files, `model` and the commit in `revision` name the content as a hub does.
    """

    files: tuple[WeightFile, ...]
    model: str = ""
    revision: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    damage: tuple[str, ...] = ()

    def get(self, name: str) -> WeightFile | None:
        """The file of this name."""
        return next((f for f in self.files if f.name == name), None)


def layer_value(weights: Weights) -> Tree | Unknown:
    """What the weights digest is taken from, or `Unknown` when something is missing or damaged."""
    if weights.damage:
        return Unknown("; ".join(weights.damage[:3]))
    if not weights.files:
        if weights.model and weights.revision:
            return {"model": weights.model, "commit": weights.revision}
        return Unknown("the folder has no file that an engine reads")
    return {"files": [{"name": f.name, "size": f.size, "digest": f.blake3} for f in weights.files]}


def to_json(weights: Weights) -> Tree:
    """Everything a record keeps of these files; `from_json` reads it back."""
    return {
        "files": [
            {"name": f.name, "size": f.size, "digest": f.blake3, **({"sha256": f.sha256} if f.sha256 else {})}
            for f in weights.files
        ],
        "model": weights.model,
        "revision": weights.revision,
        "facts": dict(weights.facts),
        "damage": list(weights.damage),
    }


def from_json(value: Tree) -> Weights:
    """The files that `to_json` wrote. Raises `KeyError`, `TypeError` or `ValueError` on anything else."""
    files, facts, damage = value["files"], value.get("facts", {}), value.get("damage", [])
    if not isinstance(files, Sequence) or not isinstance(facts, Mapping) or not isinstance(damage, Sequence):
        raise TypeError("files, facts or damage are not what they should be")
    return Weights(
        tuple(_file_from(item) for item in files),
        str(value.get("model", "")),
        str(value.get("revision", "")),
        tuple(sorted((key, str(item)) for key, item in facts.items())),
        tuple(map(str, damage)),
    )


def _file_from(item: Json) -> WeightFile:
    if not isinstance(item, Mapping) or not isinstance(item["size"], int):
        raise TypeError("a file is not what it should be")
    return WeightFile(str(item["name"]), item["size"], str(item["digest"]), str(item.get("sha256", "")))


def inspect(names: Iterable[tuple[str, int]], read: ReadFile) -> tuple[dict[str, str], list[Finding]]:
    """Facts from the headers (quantisation, dtype, architecture) and findings for damaged files.

    `names` are (name, size). Nothing is hashed here.
    """
    facts: dict[str, str] = {}
    found: list[Finding] = []
    listed = list(names)
    present = {name for name, _ in listed}
    for name, size in listed:
        try:
            found += _inspect_one(name, size, read, facts, present)
        except Unreadable as err:
            code = "TL965" if name.lower().endswith(".gguf") else "TL964"
            found.append(notice(code, f"`{name}`: {err.message}", path=name))
    return facts, found


def _inspect_one(
    name: str, size: int, read: ReadFile, facts: dict[str, str], present: set[str]
) -> list[Finding]:
    lower = name.lower()
    if size <= 1024 and read(name, 0, len(LFS)) == LFS:
        return [notice("TL963", f"`{name}` is a Git LFS pointer of {size} bytes", path=name)]
    if lower.endswith(".gguf"):
        header = read_gguf(lambda start, length: read(name, start, length), size)
        for key, value in _gguf_facts(header).items():
            facts.setdefault(key, value)
    elif lower.endswith(".safetensors"):
        tensors = read_header(lambda start, length: read(name, start, length), size)
        facts.setdefault("dtype", tensors.main_dtype)
    elif lower.endswith(".index.json") and size <= SMALL:
        return _index(name, read(name, 0, size), present)
    elif lower == "config.json" and size <= SMALL:
        _config(read(name, 0, size), facts)
    return []


def _gguf_facts(header: Gguf) -> dict[str, str]:
    pairs = header.pairs
    return {
        "architecture": header.architecture,
        "quantisation": header.quantisation,
        "name": str(pairs.get("general.name", "")),
        "chat template": str(pairs.get("tokenizer.chat_template", "none")),
        "tokenizer": str(pairs.get("tokenizer.ggml.pre", pairs.get("tokenizer.ggml.model", ""))),
    }


def _index(name: str, data: bytes, present: set[str]) -> list[Finding]:
    try:
        shards = sorted(set(json.loads(data)["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError):
        return [notice("TL960", f"`{name}` is not an index of shards", path=name)]
    folder = name.rpartition("/")[0]
    missing = [s for s in shards if (f"{folder}/{s}" if folder else s) not in present]
    return [notice("TL960", f"`{s}`, listed in `{name}`, is not there", path=name, key=s) for s in missing]


def _config(data: bytes, facts: dict[str, str]) -> None:
    try:
        value = json.loads(data)
        dtype = value.get("dtype") or value.get("torch_dtype") or ""
        facts.setdefault("architecture", ", ".join(map(str, value.get("architectures") or [])))
    except (ValueError, AttributeError, TypeError):
        return
    facts["config dtype"] = str(dtype)


def verify(declared: Mapping[str, str], weights: Weights) -> tuple[Finding, ...]:
    """What differs between a declared manifest (name to `algorithm:hex`) and the files that are there."""
    found: list[Finding] = []
    for name, digest in sorted(declared.items()):
        found += _verify_one(name, digest, weights)
    unlisted = [f for f in weights.files if f.name not in declared and f.role not in ("other", "index")]
    if declared:
        found += [
            notice("TL962", f"`{f.name}` ({f.role}) is not in the manifest", key=f.name) for f in unlisted
        ]
    return tuple(found)


def _verify_one(name: str, declared: str, weights: Weights) -> list[Finding]:
    file = weights.get(name)
    if file is None:
        return [notice("TL960", f"`{name}` is in the manifest and not in the folder", key=name)]
    algorithm = declared.partition(":")[0]
    actual = file.digest(algorithm)
    if actual == declared:
        return []
    if not actual:
        return [notice("TL961", f"`{name}` was not hashed with {algorithm}", key=name)]
    return [notice("TL961", f"`{name}` is {_brief(actual)}, the manifest says {_brief(declared)}", key=name)]


def _brief(digest: str) -> str:
    algorithm, _, value = digest.partition(":")
    return f"{algorithm}:{value[:12]}"


def algorithms_of(declared: Mapping[str, str]) -> tuple[str, ...]:
    """The algorithms a manifest speaks besides BLAKE3, in order."""
    return tuple(sorted({d.partition(":")[0] for d in declared.values()} - {"blake3"}))


def verify_hub(blobs: Mapping[str, str], digests: Mapping[str, Mapping[str, str]]) -> tuple[Finding, ...]:
    """What differs from the hub's own digests: a blob's name is its SHA-256 (large files) or its git id.

    `blobs` is file name to blob name, `digests` file name to algorithm to digest.
    """
    found = []
    for name, blob in sorted(blobs.items()):
        algorithm = {64: "sha256", 40: "git"}.get(len(blob))
        actual = digests.get(name, {}).get(algorithm or "", "").partition(":")[2]
        if algorithm and actual != blob:
            found.append(notice("TL967", f"`{name}` is {actual[:12]}, the hub has {blob[:12]}", key=name))
    return tuple(found)


def verify_revision(model: str, revision: str, *, then: str = "", now: str | Unknown) -> tuple[Finding, ...]:
    """What a hub says about a revision: it moved since it stood for commit `then`, or it can be had no
    more.
    """
    if isinstance(now, Unknown):
        return (notice("TL969", f"`{model}` at {revision[:12]}: {now.reason}", key="model.revision"),)
    if then and then != now:
        text = f"`{revision}` of `{model}` was {then[:12]} and is {now[:12]}"
        return (notice("TL968", text, key="model.revision"),)
    return ()
