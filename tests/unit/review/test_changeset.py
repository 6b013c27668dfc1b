"""What moves, read from real git: every way a file can change has its rule."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from governance.adapters.git import IndexTree, RevisionTree
from governance.errors import TierlockError
from governance.review.changeset import between
from governance.review.model import ChangeSet
from governance.tiers.config import GOVERNED
from governance.values import Effect
from tests.support.governed import BASE, FILES, PROMPTS, SAMPLING, SERVICES, governed
from tests.support.repos import Repo, make_repo

FACTUAL = "configs/sampling/factual.yaml"
SYSTEM = "configs/prompts/summarize/system.md"


def staged(repo: Repo) -> ChangeSet:
    """What the commit being made would move."""
    git = repo.neighbour()
    before = RevisionTree(git, "HEAD", GOVERNED) if git.has_commits() else None
    return between(before, IndexTree(git, GOVERNED))


def moved(repo: Repo) -> dict[str, tuple[bool, bool]]:
    """Of each subject that moves, whether it was there before and is after."""
    repo.git("add", "-A")
    found = staged(repo).transitions
    return {one.subject.key: (one.subject.before is not None, one.subject.after is not None) for one in found}


def codes(change_set: ChangeSet) -> set[str]:
    return {finding.code for finding in change_set.findings}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return governed(tmp_path / "repo")


class TestMeaning:
    """T2: a byte of a prompt is a change; how a structured file is written down is none."""

    def test_one_blank_at_the_end_of_a_prompt_moves_it(self, repo: Repo) -> None:
        repo.write({SYSTEM: FILES[SYSTEM] + "\n"})
        assert moved(repo) == {"config:prompts/summarize": (True, True)}

    def test_reindenting_a_prompt_moves_it(self, repo: Repo) -> None:
        repo.write({SYSTEM: FILES[SYSTEM].replace("Never", " Never")})
        assert moved(repo) == {"config:prompts/summarize": (True, True)}

    @pytest.mark.parametrize(
        ("name", "path", "text"),
        [
            ("a comment", FACTUAL, SAMPLING + "# why\n"),
            ("key order", FACTUAL, "\n".join(["kind: sampling", *SAMPLING.splitlines()[:0:-1]]) + "\n"),
            ("indentation", "configs/base/qwen.yaml", BASE.replace("\n  ", "\n    ")),
            ("flow style", FACTUAL, SAMPLING.replace("temperature: 0.2", "temperature: 0.20")),
        ],
    )
    def test_layout_moves_nothing(self, repo: Repo, name: str, path: str, text: str) -> None:
        repo.write({path: text})
        repo.git("add", "-A")
        found = staged(repo)
        assert (found.transitions, found.findings, found.governed) == ((), (), 1)

    def test_a_dedent_that_moves_a_key_out_of_its_parent_is_a_change(self, repo: Repo) -> None:
        nested = SAMPLING + "dry:\n  multiplier: 0.5\n  base: 1.5\n"
        repo.commit("nested", {FACTUAL: nested})
        repo.write({FACTUAL: SAMPLING + "dry:\n  multiplier: 0.5\nmin_p: 0.5\n"})
        assert moved(repo) == {"config:sampling/factual": (True, True)}

    def test_a_change_tells_its_field_its_risk_and_who_runs_it(self, repo: Repo) -> None:
        repo.commit("hotter", {FACTUAL: SAMPLING.replace("0.2", "0.9")})
        git = repo.neighbour()
        (one,) = between(RevisionTree(git, "HEAD~1"), RevisionTree(git, "HEAD")).transitions
        (change,) = one.changes
        assert (change.key, change.before, change.after, change.line) == ("temperature", 0.2, 0.9, 3)
        assert (one.risk, one.used_by, one.path) == (Effect.OUTPUT, ("summarizer",), FACTUAL)


class TestEveryWayToChange:
    def test_a_deleted_config_moves_to_nothing(self, repo: Repo) -> None:
        (repo.path / FACTUAL).unlink()
        assert moved(repo) == {"config:sampling/factual": (True, False)}

    def test_a_new_config_moves_from_nothing(self, repo: Repo) -> None:
        repo.write({"configs/sampling/new.yaml": SAMPLING})
        assert moved(repo) == {"config:sampling/new": (False, True)}

    @pytest.mark.parametrize("target", ["configs/sampling/exact.yaml", "configs/sampling/Factual.yaml"])
    def test_a_rename_is_a_deletion_and_an_addition(self, repo: Repo, target: str) -> None:
        repo.git("mv", "-f", FACTUAL, target)
        name = target.rpartition("/")[2].removesuffix(".yaml")
        assert moved(repo) == {
            "config:sampling/factual": (True, False),
            f"config:sampling/{name}": (False, True),
        }

    def test_a_rename_out_of_the_governed_folder_is_a_deletion(self, repo: Repo) -> None:
        repo.git("mv", FACTUAL, "factual.yaml")
        assert moved(repo) == {"config:sampling/factual": (True, False)}

    def test_an_executable_bit_moves_nothing(self, repo: Repo) -> None:
        repo.git("update-index", "--chmod=+x", FACTUAL)
        found = staged(repo)
        assert (found.transitions, found.findings, found.governed) == ((), (), 1)

    def test_a_link_in_the_place_of_a_config_is_refused(self, repo: Repo) -> None:
        (repo.path / FACTUAL).unlink()
        (repo.path / FACTUAL).symlink_to("/etc/hostname")
        repo.git("add", "-A")
        assert codes(staged(repo)) == {"TL051"}

    @pytest.mark.parametrize("folder", ["configs", "configs/sampling"])
    def test_a_link_in_the_place_of_a_governed_folder_is_refused(self, repo: Repo, folder: str) -> None:
        (repo.path / folder).rename(repo.path / "elsewhere")
        (repo.path / folder).symlink_to(repo.path / "elsewhere")
        repo.git("add", "-A")
        found = staged(repo)
        assert "TL051" in codes(found)
        assert "config:sampling/factual" in {one.subject.key for one in found.transitions}

    def test_a_nested_repository_below_a_governed_folder_is_refused(self, repo: Repo, tmp_path: Path) -> None:
        other = make_repo(tmp_path / "other", files={"x": "1"})
        oid = other.git("rev-parse", "HEAD")
        repo.git("update-index", "--add", "--cacheinfo", f"160000,{oid},configs/sampling/sub")
        assert codes(staged(repo)) == {"TL052"}
        repo.git("commit", "-q", "-m", "sub")
        repo.git("update-index", "--cacheinfo", f"160000,{'1' * 40},configs/sampling/sub")
        assert codes(staged(repo)) == {"TL052"}

    def test_a_file_that_belongs_to_no_config_is_refused(self, repo: Repo) -> None:
        repo.write({"configs/sampling/notes.txt": "x", "configs/prompts/summarize/extra.md": "x"})
        repo.git("add", "-A")
        assert codes(staged(repo)) == {"TL050", "TL059"}

    def test_a_name_that_is_not_utf8_is_refused_by_name(self, repo: Repo) -> None:
        with open(os.fsencode(repo.path) + b"/configs/sampling/f\xff.yaml", "wb") as file:
            file.write(SAMPLING.encode())
        repo.git("add", "-A")
        found = staged(repo)
        assert codes(found) == {"TL063"}
        assert "f\\xff" in found.findings[0].message

    def test_a_name_beyond_ascii_is_a_config_like_any_other(self, repo: Repo) -> None:
        repo.write({"configs/sampling/客服.yaml": SAMPLING})
        assert moved(repo) == {"config:sampling/客服": (False, True)}

    def test_what_does_not_load_any_more_is_a_finding_and_moves(self, repo: Repo) -> None:
        repo.write({FACTUAL: "kind: sampling\ntempurature: 1\n"})
        assert moved(repo) == {"config:sampling/factual": (True, True)}
        assert codes(staged(repo)) == {"TL103"}

    def test_what_did_not_load_before_can_be_mended(self, repo: Repo) -> None:
        repo.commit("broken", {FACTUAL: "kind: sampling\ntempurature: 1\n"})
        repo.write({FACTUAL: SAMPLING})
        assert moved(repo) == {"config:sampling/factual": (True, True)}
        assert codes(staged(repo)) == set()

    def test_a_file_that_a_config_names_and_is_gone_is_a_finding_and_moves(self, repo: Repo) -> None:
        (repo.path / SYSTEM).unlink()
        assert moved(repo) == {"config:prompts/summarize": (True, True)}
        assert codes(staged(repo)) == {"TL057"}
        repo.git("commit", "-q", "-m", "gone")
        repo.write({SYSTEM: FILES[SYSTEM]})
        assert moved(repo) == {"config:prompts/summarize": (True, True)}
        assert codes(staged(repo)) == set()

    def test_binding_another_config_moves_the_service_and_no_config(self, repo: Repo) -> None:
        repo.commit("second", {"configs/sampling/code.yaml": SAMPLING})
        repo.write({"tierlock.yaml": SERVICES.replace("sampling: factual", "sampling: code")})
        assert moved(repo) == {"binding:summarizer": (True, True)}

    def test_where_a_service_answers_is_not_bound(self, repo: Repo) -> None:
        text = SERVICES.replace("summarize}", 'summarize, endpoint: {url: "http://127.0.0.1:1/v1"}}')
        repo.write({"tierlock.yaml": text})
        assert moved(repo) == {}

    @pytest.mark.parametrize(
        "section",
        [
            "review:\n  protected: [main]\n",
            "review:\n  protected: [main]\nrules:\n  settings: {TL301: {severity: error}}\n",
        ],
    )
    def test_the_policy_is_a_subject_of_its_own(self, repo: Repo, section: str) -> None:
        repo.write({"tierlock.yaml": SERVICES + section})
        assert moved(repo) == {"policy:policy": (False, True)}

    def test_exemptions_are_part_of_the_policy(self, repo: Repo) -> None:
        with_policy = SERVICES + "review:\n  protected: [main]\n"
        repo.commit("policy", {"tierlock.yaml": with_policy})
        rules = (
            "rules:\n  exemptions:\n    - {rule: TL301, config: sampling/factual, reason: x, "
            'expires: "2026-12-01"}\n'
        )
        repo.write({"tierlock.yaml": with_policy + rules})
        assert moved(repo) == {"policy:policy": (True, True)}


class TestWhatGitNames:
    def test_the_index_is_read_and_not_the_file_on_disk(self, repo: Repo) -> None:
        repo.write({FACTUAL: SAMPLING.replace("0.2", "0.9")})
        repo.git("add", "-A")
        repo.write({FACTUAL: SAMPLING})
        (one,) = staged(repo).transitions
        assert one.changes[0].after == 0.9

    def test_the_index_named_by_git_is_the_one_that_is_read(
        self, repo: Repo, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repo.write({FACTUAL: SAMPLING.replace("0.2", "0.9")})
        index = str(repo.path / "other-index")
        repo.git("read-tree", "HEAD", GIT_INDEX_FILE=index)
        repo.git("add", FACTUAL, GIT_INDEX_FILE=index)
        monkeypatch.chdir(repo.path)
        git = repo.neighbour(GIT_INDEX_FILE=index)
        found = between(RevisionTree(git, "HEAD"), IndexTree(git))
        assert [one.subject.name for one in found.transitions] == ["sampling/factual"]
        assert staged(repo).transitions == ()

    def test_the_first_commit_adds_everything(self, tmp_path: Path) -> None:
        repo = make_repo(tmp_path / "new")
        repo.write(FILES)
        assert set(moved(repo)) == {
            "config:base/qwen",
            "config:prompts/summarize",
            "config:sampling/factual",
            "binding:summarizer",
        }

    def test_a_sparse_check_out_hides_nothing(self, repo: Repo) -> None:
        repo.write({FACTUAL: SAMPLING.replace("0.2", "0.9")})
        repo.git("add", "-A")
        repo.git("commit", "-q", "-m", "hotter")
        repo.git("sparse-checkout", "set", "--no-cone", "/tierlock.yaml")
        assert not (repo.path / FACTUAL).exists()
        git = repo.neighbour()
        assert len(between(RevisionTree(git, "HEAD~1"), IndexTree(git)).transitions) == 1
        assert staged(repo).transitions == ()

    def test_line_end_conversion_moves_nothing(self, repo: Repo) -> None:
        repo.commit("attributes", {".gitattributes": "*.md text eol=crlf\n"})
        (repo.path / SYSTEM).unlink()
        repo.git("checkout", "--", SYSTEM)
        assert b"\r\n" in (repo.path / SYSTEM).read_bytes()
        repo.git("add", "--renormalize", ".")
        assert staged(repo).governed == 0

    def test_a_smudge_filter_does_not_decide_what_is_read(self, repo: Repo) -> None:
        repo.git("config", "filter.hot.smudge", "sed s/0.2/0.9/")
        repo.git("config", "filter.hot.clean", "sed s/0.9/0.2/")
        repo.commit("filter", {".gitattributes": "configs/sampling/* filter=hot\n"})
        (repo.path / FACTUAL).unlink()
        repo.git("checkout", "--", FACTUAL)
        assert "0.9" in (repo.path / FACTUAL).read_text()
        assert staged(repo).transitions == ()

    def test_a_repository_with_sha256_ids_is_read_alike(self, tmp_path: Path) -> None:
        repo = make_repo(tmp_path / "long", files=FILES, sha256=True)
        repo.write({FACTUAL: SAMPLING.replace("0.2", "0.9")})
        assert moved(repo) == {"config:sampling/factual": (True, True)}

    def test_a_linked_worktree_has_its_own_index(self, repo: Repo, tmp_path: Path) -> None:
        repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
        side = Repo(tmp_path / "side")
        side.write({FACTUAL: SAMPLING.replace("0.2", "0.9")})
        assert moved(side) == {"config:sampling/factual": (True, True)}
        assert staged(repo).transitions == ()

    def test_an_object_that_is_missing_is_told_and_not_passed_over(self, repo: Repo) -> None:
        repo.commit("hotter", {FACTUAL: SAMPLING.replace("0.2", "0.9")})
        oid = repo.git("rev-parse", f"HEAD:{FACTUAL}")
        (repo.path / ".git/objects" / oid[:2] / oid[2:]).unlink()
        git = repo.neighbour()
        with pytest.raises(TierlockError, match="is not in this clone") as caught:
            between(RevisionTree(git, "HEAD~1"), RevisionTree(git, "HEAD"))
        assert caught.value.exit_code == 3
        assert caught.value.hint.startswith("git fetch")

    def test_only_what_differs_is_read(self, repo: Repo) -> None:
        many = {f"configs/sampling/s{n}.yaml": SAMPLING for n in range(30)}
        repo.commit("many", many)
        repo.commit("one", {"configs/sampling/s7.yaml": PROMPTS.replace("prompts", "sampling")[:15]})
        git = repo.neighbour()
        read: list[str] = []
        before, after = _Watched(RevisionTree(git, "HEAD~1"), read), RevisionTree(git, "HEAD")
        between(before, after)
        assert [path for path in read if path.startswith("configs")] == []


class _Watched(RevisionTree):
    """A revision that notes which files are read one by one."""

    def __init__(self, inner: RevisionTree, read: list[str]) -> None:
        super().__init__(inner.git, inner.oid, GOVERNED)
        self._read = read

    def read(self, path: str) -> bytes:
        self._read.append(path)
        return super().read(path)
