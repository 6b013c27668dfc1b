"""Laws of checkouts: a fingerprint is of what a config says, wherever and however git wrote the files.

A fingerprint that is another one on Windows, or after a formatter sorted the keys, would raise an alarm where
nothing changed, and people would stop looking.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from governance.adapters.files import FileSource, MemoryTree, WorkTree
from governance.adapters.git import Git, RevisionTree
from governance.cli import scaffold
from governance.fingerprint.layers import config_digest
from governance.fingerprint.services import fingerprint_of
from governance.tiers.config import load_repository
from governance.tiers.reader import read_yaml
from governance.tiers.writer import dump
from governance.values import Json
from tests.support.command import ROOT
from tests.support.repos import make_repo

FILES_ONLY = (
    b"/configs/*/*/** -text\n"  # what a config names is kept; the YAML files themselves are converted
)


def ours() -> dict[str, bytes]:
    """This repository's own governed files and its attributes."""
    found = {path: ROOT / path for path in (".gitattributes", "tierlock.yaml")}
    found |= {str(p.relative_to(ROOT)): p for p in (ROOT / "configs").rglob("*") if p.is_file()}
    return {path: file.read_bytes() for path, file in found.items()}


def initial(engine: str) -> dict[str, bytes]:
    """What `tierlock init` writes."""
    return scaffold.files(engine)


REPOSITORIES: dict[str, Callable[[], dict[str, bytes]]] = {
    "ours": ours,
    "init llama.cpp": lambda: initial("llama.cpp"),
    "init vllm": lambda: initial("vllm"),
}


def fingerprints(source: FileSource) -> dict[str, str]:
    """The digest of every config and the layers and the fold of every service."""
    repository = load_repository(source)
    assert not [finding for finding in repository.findings if finding.blocks], repository.findings
    found = {str(config_id): config_digest(config) for config_id, config in repository.configs.items()}
    for name, service in repository.services.items():
        fingerprint = fingerprint_of(service)
        found |= {f"{name} {layer}": str(value) for layer, value in fingerprint.layers.items()}
        found[name] = str(fingerprint.fold())
    assert len(found) >= 4, "a law over nothing holds for nothing"
    return found


def cloned(files: dict[str, bytes], folder: Path, *settings: str) -> Path:
    """The work tree of a real clone of `files` under git `settings`."""
    origin = make_repo(folder / "origin", files=files)
    options = [word for setting in settings for word in ("-c", setting)]
    origin.git(*options, "clone", "-q", *options, os.fspath(origin.path), os.fspath(folder / "clone"))
    return folder / "clone"


@pytest.mark.parametrize("name", REPOSITORIES)
@pytest.mark.parametrize("settings", [("core.autocrlf=true",), ("core.autocrlf=input",), ("core.eol=crlf",)])
def test_a_checkout_with_other_line_ends_has_the_same_fingerprint(
    name: str, settings: tuple[str, ...], tmp_path: Path
) -> None:
    files = REPOSITORIES[name]()
    clone = cloned(files, tmp_path, *settings)
    assert fingerprints(WorkTree(clone)) == fingerprints(MemoryTree(files))


@pytest.mark.parametrize("name", REPOSITORIES)
def test_every_file_a_config_names_is_checked_out_byte_for_byte(name: str, tmp_path: Path) -> None:
    files = REPOSITORIES[name]()
    clone = cloned(files, tmp_path, "core.autocrlf=true")
    named = [path for path in files if path.startswith("configs/") and path.count("/") > 2]
    assert named
    for path in named:
        assert (clone / path).read_bytes() == files[path]


@pytest.mark.parametrize("name", REPOSITORIES)
def test_tier_files_with_crlf_say_the_same(name: str, tmp_path: Path) -> None:
    """Where a repository has no rule for its YAML files, a Windows checkout has CRLF in all of them."""
    files = {**REPOSITORIES[name](), ".gitattributes": FILES_ONLY}
    clone = cloned(files, tmp_path, "core.autocrlf=true")
    tier_files = [*clone.glob("configs/*/*.yaml"), clone / "tierlock.yaml"]
    assert all(b"\r\n" in file.read_bytes() for file in tier_files)
    assert fingerprints(WorkTree(clone)) == fingerprints(MemoryTree(files))


def test_without_the_attributes_a_converted_prompt_is_another_prompt(tmp_path: Path) -> None:
    """Text is byte-exact, so this difference is real: the model would get other bytes."""
    files = ours()
    del files[".gitattributes"]
    before, after = MemoryTree(files), WorkTree(cloned(files, tmp_path, "core.autocrlf=true"))
    left, right = (load_repository(source).configs for source in (before, after))
    moved = {str(each) for each in left if config_digest(left[each]) != config_digest(right[each])}
    assert "prompts/summarize" in moved
    assert "sampling/factual" not in moved


def test_a_revision_and_its_checkout_have_one_fingerprint(tmp_path: Path) -> None:
    clone = cloned(ours(), tmp_path, "core.autocrlf=true")
    assert fingerprints(WorkTree(clone)) == fingerprints(RevisionTree(Git(clone), "HEAD"))


@pytest.mark.parametrize("name", REPOSITORIES)
def test_the_order_of_keys_comments_and_layout_say_nothing(name: str) -> None:
    files = REPOSITORIES[name]()
    expected = fingerprints(MemoryTree(files))
    random = Random(20261130)
    for _ in range(10):
        assert fingerprints(MemoryTree(_rewritten(files, random))) == expected


def _rewritten(files: dict[str, bytes], random: Random) -> dict[str, bytes]:
    """Every YAML file with its keys shuffled at every depth, without comments, in our own layout."""
    rewritten = dict(files)
    for path, data in files.items():
        if path.startswith(("configs/", "tierlock.yaml")) and path.endswith(".yaml"):
            tree: Any = read_yaml(data, path).tree
            rewritten[path] = b"# shuffled\n\n" + dump(_shuffled(tree, random)).encode()
    assert rewritten != files
    return rewritten


def _shuffled(value: Json, random: Random) -> Any:
    if isinstance(value, dict):
        items = list(value.items())
        random.shuffle(items)
        return {key: _shuffled(each, random) for key, each in items}
    if isinstance(value, list):
        return [_shuffled(each, random) for each in value]
    return value


def test_a_prompt_that_ends_otherwise_is_not_the_same() -> None:
    """The laws above would also hold for a fingerprint that sees nothing."""
    files = ours()
    changed = {
        **files,
        "configs/prompts/summarize/system.md": files["configs/prompts/summarize/system.md"] + b"\n",
    }
    left, right = fingerprints(MemoryTree(files)), fingerprints(MemoryTree(changed))
    moved = {key for key in left if left[key] != right[key]}
    assert moved == {"prompts/summarize", "summarizer prompts", "summarizer"}
