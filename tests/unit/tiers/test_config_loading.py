"""Loading a governed repository: what lies where, what configs name, what services bind."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from governance.adapters.files import FileSource, Kind, MemoryTree, WorkTree
from governance.errors import Usage
from governance.tiers.config import Config, ConfigId, Repository, load_config, load_repository
from governance.tiers.naming import config_of, is_governed, name_fault
from governance.verdict import Finding, Severity

BASE = b"kind: base\nmodel: {id: a}\nengine: {name: vllm, version: 0.8.4}\n"
SAMPLING = b"kind: sampling\ntemperature: 0.1\n"
PROMPTS = b"kind: prompts\nsystem: {file: system.md}\n"
SERVICES = b"version: 1\nservices:\n  s: {base: b, sampling: f, prompts: p}\n"
GOOD: Mapping[str, bytes] = {
    "tierlock.yaml": SERVICES,
    "configs/base/b.yaml": BASE,
    "configs/sampling/f.yaml": SAMPLING,
    "configs/sampling/other.yaml": SAMPLING,
    "configs/prompts/p.yaml": PROMPTS,
    "configs/prompts/p/system.md": b"Be brief.\n",
    "src/app.py": b"",
}


def tree(
    changes: Mapping[str, bytes | None] | None = None, kinds: Mapping[str, Kind] | None = None
) -> MemoryTree:
    """The good repository with `changes`; None takes a file away."""
    files = {**GOOD, **(changes or {})}
    return MemoryTree({path: data for path, data in files.items() if data is not None}, kinds=kinds)


def only_finding(source: FileSource) -> Finding:
    findings = load_repository(source).findings
    assert len(findings) == 1, findings
    return findings[0]


def config(repository: Repository, text: str) -> Config:
    return repository.configs[ConfigId.parse(text)]


def test_a_good_repository_has_every_config_and_no_finding() -> None:
    loaded = load_repository(tree())
    assert not loaded.findings
    assert {str(each) for each in loaded.configs} == {"base/b", "sampling/f", "sampling/other", "prompts/p"}
    assert config(loaded, "sampling/f").tree == {"kind": "sampling", "temperature": 0.1}
    service = loaded.services["s"]
    assert service.complete
    assert service.sampling is config(loaded, "sampling/f")
    assert service.tree["base"] == "b"
    assert loaded.settings["version"] == 1


def test_referenced_text_is_kept_byte_for_byte() -> None:
    text = b"Be brief. \r\n\xe2\x80\x8b\n\n"
    found = config(load_repository(tree({"configs/prompts/p/system.md": text})), "prompts/p")
    assert found.files == {"p/system.md": text}
    assert found.file("system.md") == text


LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
# what is changed, and the one finding it makes: code, path, line
STRUCTURE: dict[str, tuple[Mapping[str, bytes | None], str, str, int]] = {
    "a file that is no config": (
        {"configs/sampling/README.md": b"x"},
        "TL050",
        "configs/sampling/README.md",
        0,
    ),
    "the other suffix": ({"configs/sampling/x.yml": SAMPLING}, "TL050", "configs/sampling/x.yml", 0),
    "a folder without its config": (
        {"configs/prompts/q/system.md": b""},
        "TL050",
        "configs/prompts/q/system.md",
        0,
    ),
    "an unused file": ({"configs/prompts/p/old.md": b""}, "TL059", "configs/prompts/p/old.md", 0),
    "a sampling config names no files": ({"configs/sampling/f/x": b""}, "TL059", "configs/sampling/f/x", 0),
    "a space in a name": ({"configs/sampling/a b.yaml": SAMPLING}, "TL056", "configs/sampling/a b.yaml", 0),
    "a name with a control": (
        {"configs/sampling/a\tb.yaml": SAMPLING},
        "TL056",
        "configs/sampling/a\tb.yaml",
        0,
    ),
    "a device name": ({"configs/sampling/nul.yaml": SAMPLING}, "TL056", "configs/sampling/nul.yaml", 0),
    "a name in loose accents": (
        {"configs/sampling/e\u0301.yaml": SAMPLING},
        "TL056",
        "configs/sampling/e\u0301.yaml",
        0,
    ),
    "names apart in case": ({"configs/sampling/F.yaml": SAMPLING}, "TL055", "configs/sampling/f.yaml", 0),
    "a name that is not UTF-8": (
        {"configs/sampling/\udcff.yaml": b""},
        "TL063",
        "configs/sampling/\\xff.yaml",
        0,
    ),
    "a file that is not there": ({"configs/prompts/p/system.md": None}, "TL057", "configs/prompts/p.yaml", 2),
    "text that is no text": (
        {"configs/prompts/p/system.md": b"hi\xff"},
        "TL064",
        "configs/prompts/p/system.md",
        0,
    ),
    "a text beyond all measure": (
        {"configs/prompts/p/system.md": b"x" * (1 << 20) + b"x"},
        "TL061",
        "configs/prompts/p/system.md",
        0,
    ),
    "an LFS pointer for a config": (
        {"configs/sampling/other.yaml": LFS_POINTER},
        "TL053",
        "configs/sampling/other.yaml",
        0,
    ),
    "an LFS pointer for a prompt": (
        {"configs/prompts/p/system.md": LFS_POINTER},
        "TL053",
        "configs/prompts/p/system.md",
        0,
    ),
    "a service without its config": ({"configs/sampling/f.yaml": None}, "TL060", "tierlock.yaml", 3),
    "no services file": ({"tierlock.yaml": None}, "TL065", "tierlock.yaml", 0),
    "a mistake in a config": (
        {"configs/sampling/other.yaml": b"kind: base\n"},
        "TL106",
        "configs/sampling/other.yaml",
        1,
    ),
}


@pytest.mark.parametrize("name", STRUCTURE)
def test_what_is_out_of_place_is_one_finding_that_names_it(name: str) -> None:
    changes, code, path, line = STRUCTURE[name]
    found = only_finding(tree(changes))
    assert (found.code, found.path, found.line) == (code, path, line)
    assert found.hint


@pytest.mark.parametrize(
    ("kind", "code"), [(Kind.SYMLINK, "TL051"), (Kind.SUBMODULE, "TL052"), (Kind.OTHER, "TL054")]
)
@pytest.mark.parametrize("path", ["configs/sampling/link.yaml", "configs/prompts/link", "configs"])
def test_only_regular_files_are_governed(kind: Kind, code: str, path: str) -> None:
    assert only_finding(tree(kinds={path: kind})).code == code


def test_a_link_in_the_place_of_tierlock_yaml_is_refused() -> None:
    findings = load_repository(tree({"tierlock.yaml": None}, {"tierlock.yaml": Kind.SYMLINK})).findings
    assert "TL051" in {each.code for each in findings}


@pytest.mark.parametrize(
    "name", ["../x.md", "/etc/passwd", "a\\\\b.md", "p/../../x", "./system.md", "a//b", "C:/x"]
)
def test_a_reference_never_leaves_the_folder_of_its_config(name: str) -> None:
    source = tree({"configs/prompts/p.yaml": f'kind: prompts\nsystem: {{file: "{name}"}}\n'.encode()})
    codes = {each.code for each in load_repository(source).findings}
    assert "TL058" in codes
    assert "TL062" not in codes, "such a file is not even read"


def test_a_reference_to_a_link_is_missing_and_the_link_is_named() -> None:
    source = tree({"configs/prompts/p/system.md": None}, {"configs/prompts/p/system.md": Kind.SYMLINK})
    assert {each.code for each in load_repository(source).findings} == {"TL051", "TL057"}


def test_the_folder_of_a_refused_config_is_not_judged() -> None:
    """What a broken config names is not known, so nothing can be called unused."""
    assert (
        only_finding(tree({"configs/prompts/p.yaml": b"kind: prompts\nsytem: {file: system.md}\n"})).code
        == "TL103"
    )


def test_referenced_json_is_read_by_the_strict_rules() -> None:
    source = tree({
        "configs/prompts/p.yaml": PROMPTS + b"tools: {file: tools.json}\nfew_shot: {file: few.jsonl}\n",
        "configs/prompts/p/tools.json": b'{"a": 1, "a": 2}',
        "configs/prompts/p/few.jsonl": b'{"input": "a", "output": "b"}\n{"input": NaN, "output": "b"}\n',
    })  # fmt: skip
    places = {(each.path, each.line) for each in load_repository(source).findings}
    assert places == {("configs/prompts/p/tools.json", 1), ("configs/prompts/p/few.jsonl", 2)}


def test_every_line_of_a_few_shot_file_must_be_an_example() -> None:
    """A line that is no example would be dropped or break the prompt, depending on who renders it."""
    source = tree({
        "configs/prompts/p.yaml": PROMPTS + b"few_shot: {file: few.jsonl}\n",
        "configs/prompts/p/few.jsonl": b'{"input": "a", "output": "b"}\n{"inptu": "a", "output": ""}\n[1]\n',
    })  # fmt: skip
    found = [(each.path, each.line, each.code) for each in load_repository(source).findings]
    name = "configs/prompts/p/few.jsonl"
    assert found == [(name, 2, "TL101"), (name, 2, "TL103"), (name, 3, "TL102")]


def test_a_broken_services_file_hides_no_config() -> None:
    loaded = load_repository(tree({"tierlock.yaml": b"version: 1\nservcies: {}\n"}))
    assert [each.code for each in loaded.findings] == ["TL103"]
    assert len(loaded.configs) == 4
    assert not loaded.services
    assert loaded.settings == {}


def test_the_missing_services_file_is_a_warning() -> None:
    assert only_finding(tree({"tierlock.yaml": None})).severity is Severity.WARNING
    assert not load_repository(MemoryTree({"README.md": b""})).findings


def test_a_service_that_names_no_config_gets_the_nearest_name() -> None:
    found = only_finding(tree({"tierlock.yaml": SERVICES.replace(b"sampling: f", b"sampling: othr")}))
    assert found.code == "TL060"
    assert "`other`" in found.hint
    assert found.excerpt[found.column - 1 :].startswith("othr")


@pytest.mark.parametrize(
    ("paths", "configs", "services"),
    [
        ([], set(), set()),
        (["src/app.py"], set(), set()),
        (["configs/sampling/other.yaml"], {"sampling/other"}, set()),
        (["configs/sampling/f.yaml"], {"base/b", "sampling/f", "prompts/p"}, {"s"}),
        (["configs/prompts/p/system.md"], {"base/b", "sampling/f", "prompts/p"}, {"s"}),
        (["configs/prompts/p/deleted.md"], {"base/b", "sampling/f", "prompts/p"}, {"s"}),
        (["tierlock.yaml"], {"base/b", "sampling/f", "prompts/p"}, {"s"}),
    ],
)
def test_only_what_paths_concern_is_loaded(paths: list[str], configs: set[str], services: set[str]) -> None:
    loaded = load_repository(tree({"configs/sampling/README.md": b""}), paths)
    assert {str(each) for each in loaded.configs} == configs
    assert set(loaded.services) == services
    assert not loaded.findings, "the file out of place is not among the paths"


def test_a_name_that_is_not_utf8_is_judged_when_asked_for() -> None:
    path = "configs/prompts/\udcff.yaml"
    assert [each.code for each in load_repository(tree({path: b""}), [path]).findings] == ["TL063"]


def test_a_deleted_config_is_noticed_by_the_service_that_binds_it() -> None:
    source = tree({"configs/sampling/f.yaml": None})
    loaded = load_repository(source, ["configs/sampling/f.yaml"])
    assert [each.code for each in loaded.findings] == ["TL060"]
    assert not loaded.services["s"].complete


@pytest.mark.parametrize("path", ["configs/sampling/F.yaml", "configs/sampling/f.yaml"])
def test_twins_are_noticed_from_either_side(path: str) -> None:
    loaded = load_repository(tree({"configs/sampling/F.yaml": SAMPLING}), [path])
    assert [each.code for each in loaded.findings] == ["TL055"]


@pytest.mark.parametrize("path", ["configs/sampling/README.md", "configs/prompts/q/x", "configs/base/x.yml"])
def test_a_path_out_of_place_is_judged_when_asked_for(path: str) -> None:
    assert [each.code for each in load_repository(tree({path: b""}), [path]).findings] == ["TL050"]


def test_one_config_loads_alone_with_its_files() -> None:
    found, findings = load_config(tree(), ConfigId("prompts", "p"))
    assert not findings
    assert found is not None
    assert found.file("system.md") == b"Be brief.\n"


def test_a_config_that_is_not_there_is_a_finding() -> None:
    found, findings = load_config(tree(), ConfigId("prompts", "nothing"))
    assert found is None
    assert [each.code for each in findings] == ["TL060"]


def test_a_config_behind_a_link_on_disk_is_never_read(tmp_path: Path) -> None:
    """Case C17: a link out of the repository, a dangling one, a loop."""
    outside = tmp_path / "outside.yaml"
    outside.write_bytes(SAMPLING)
    folder = tmp_path / "repo/configs/sampling"
    folder.mkdir(parents=True)
    (folder / "out.yaml").symlink_to(outside)
    (folder / "dangling.yaml").symlink_to("missing.yaml")
    (folder / "loop").symlink_to("../..")
    loaded = load_repository(WorkTree(tmp_path / "repo"))
    assert not loaded.configs
    assert [each.code for each in loaded.findings] == ["TL051", "TL051", "TL051"]


def test_a_source_that_reads_in_batches_is_asked_once_for_everything() -> None:
    asked: list[list[str]] = []

    class Batching(MemoryTree):
        def prefetch(self, paths: list[str]) -> None:
            asked.append(paths)

    load_repository(Batching(dict(GOOD)), ["configs/prompts/p.yaml"])
    assert [sorted(each) for each in asked] == [
        [
            "configs/base/b.yaml",
            "configs/prompts/p.yaml",
            "configs/prompts/p/system.md",
            "configs/sampling/f.yaml",
        ]
    ]


def test_the_config_of_every_adapter_is_followed() -> None:
    adapters = (
        b"adapters: [{name: x, config: {file: x.json}}, {name: v}, {name: z, config: {file: gone.json}}]"
    )
    loaded = load_repository(
        tree({
            "configs/base/b.yaml": BASE.replace(b"{id: a}", b"{id: a, " + adapters + b"}"),
            "configs/base/b/x.json": b'{"r": 8}',
        })
    )  # fmt: skip
    assert config(loaded, "base/b").files == {"b/x.json": b'{"r": 8}'}
    assert [(each.code, each.key) for each in loaded.findings] == [("TL057", "model.adapters[2].config.file")]


def test_an_unreadable_file_is_a_finding_that_names_it() -> None:
    class Vanishing(MemoryTree):
        def read(self, path: str) -> bytes:
            return super().read(path if "other" not in path else "gone")

    found = only_finding(Vanishing(dict(GOOD)))
    assert (found.code, found.path) == ("TL062", "configs/sampling/other.yaml")


@pytest.mark.parametrize("text", ["sampling/factual", "configs/sampling/factual.yaml"])
def test_a_config_id_is_read_from_its_short_and_its_long_form(text: str) -> None:
    parsed = ConfigId.parse(text)
    assert str(parsed) == "sampling/factual"
    assert parsed.path == "configs/sampling/factual.yaml"
    assert parsed.folder == "configs/sampling/factual/"


@pytest.mark.parametrize(
    "text", ["", "factual", "tiers/factual", "sampling/", "sampling/a/b", "sampling/../x"]
)
def test_other_text_is_no_config_id(text: str) -> None:
    with pytest.raises(Usage):
        ConfigId.parse(text)


@pytest.mark.parametrize("name", ["qwen2.5-7B-awq", "客服", "v1", "_x", "a.b-c_d"])
def test_names_of_any_script_are_names(name: str) -> None:
    assert name_fault(name) is None


@pytest.mark.parametrize("name", ["", "-x", ".x", "x.", "a/b", "a b", "a\u200bb", "con", "COM1.x", "x" * 101])
def test_names_that_would_not_survive_elsewhere_are_refused(name: str) -> None:
    assert name_fault(name)


def test_paths_know_their_config() -> None:
    assert config_of("configs/prompts/p/a/b.md") == ConfigId("prompts", "p")
    assert config_of("configs/prompts/p.yaml") == ConfigId("prompts", "p")
    assert config_of("configs/prompts/p.md") is None
    assert config_of("configs/other/p.yaml") is None
    assert config_of("tierlock.yaml") is None
    assert is_governed("tierlock.yaml")
    assert is_governed("configs/base/x")
    assert not is_governed("configs/other/x")


def test_the_repository_of_the_project_loads_without_a_finding() -> None:
    """What we ship is the first example people read."""
    root = Path(__file__).parents[3]
    shown = subprocess.run(
        ["git", "ls-files", "configs", "tierlock.yaml"], cwd=root, capture_output=True, check=True
    )
    names = shown.stdout.decode().split()
    loaded = load_repository(MemoryTree({name: (root / name).read_bytes() for name in names}))
    assert not loaded.findings
    assert loaded.services["summarizer"].complete
