"""git answers from the object store and from the index it names, whatever the user's settings are."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from governance.adapters import pipes
from governance.adapters.files import Kind
from governance.adapters.git import Git, IndexTree, Moved, RevisionTree, find_root
from governance.adapters.git_environment import FORCED, KEPT_ALWAYS, KEPT_HERE, child_environment
from governance.errors import IncompleteHistory, MissingTool, Unreadable, Usage
from tests.support.repos import Repo, isolated, make_repo

A = "configs/sampling/a.yaml"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", files={A: "temperature: 0.1\n", "README.md": "x\n"})


def test_a_revision_holds_its_own_files_and_not_those_on_disk(repo: Repo) -> None:
    repo.git("tag", "v1")
    repo.commit("hotter", {A: "temperature: 0.9\n"})
    repo.write({A: "temperature: 0.5\n"})
    git = repo.neighbour()
    assert RevisionTree(git, "v1").read(A) == b"temperature: 0.1\n"
    assert RevisionTree(git, "HEAD").read(A) == b"temperature: 0.9\n"
    assert RevisionTree(git, "HEAD~1").oid == git.resolve("v1")
    assert RevisionTree(git, "v1").label == f"revision {git.resolve('v1')[:12]}"


def test_the_index_is_read_when_the_file_on_disk_shows_something_else(repo: Repo) -> None:
    """D01: staged 0.9, on disk 0.2 again."""
    repo.write({A: "temperature: 0.9\n"})
    repo.git("add", A)
    repo.write({A: "temperature: 0.2\n"})
    git = repo.neighbour()
    assert IndexTree(git).read(A) == b"temperature: 0.9\n"
    (moved,) = git.staged("configs/")
    assert (moved.path, moved.status) == (A, "M")
    assert git.blobs([(moved.before_oid, A), (moved.after_oid, A)]) == [
        b"temperature: 0.1\n",
        b"temperature: 0.9\n",
    ]


def test_an_edit_that_is_not_staged_is_no_staged_change(repo: Repo) -> None:
    repo.write({A: "temperature: 0.9\n", "README.md": "y\n"})
    repo.git("add", "README.md")
    assert repo.neighbour().staged("configs/") == []


def test_reading_changes_neither_index_nor_work_tree(repo: Repo) -> None:
    repo.write({A: "temperature: 0.9\n"})
    repo.git("add", A)
    os.utime(repo.path / A)  # a stale stat entry that a refreshing command would rewrite
    before = (repo.path / ".git/index").read_bytes()
    git = repo.neighbour()
    git.staged()
    IndexTree(git).entries("")
    assert (repo.path / ".git/index").read_bytes() == before


def test_the_index_that_git_names_is_honoured(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """`git commit FILE` builds a temporary index and runs the hook with GIT_INDEX_FILE."""
    repo.write({A: "temperature: 0.7\n"})
    other = str(repo.path / ".git/next-index.lock")
    repo.git("read-tree", "HEAD", GIT_INDEX_FILE=other)
    repo.git("add", A, GIT_INDEX_FILE=other)
    monkeypatch.chdir(repo.path)
    assert repo.neighbour().staged() == []
    named = repo.neighbour(GIT_INDEX_FILE=other)
    assert [moved.path for moved in named.staged()] == [A]
    assert IndexTree(named).read(A) == b"temperature: 0.7\n"


def test_variables_of_the_repository_we_stand_in_do_not_reach_another(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pre-commit-terraform #992: a child call in another repository wrote the first one's index."""
    other = make_repo(tmp_path / "other", files={"b.yaml": "x\n"})
    monkeypatch.chdir(repo.path)
    git = other.neighbour(GIT_DIR=str(repo.path / ".git"), GIT_INDEX_FILE=str(repo.path / ".git/index"))
    assert [entry.path for entry in IndexTree(git).entries("")] == ["b.yaml"]
    assert [entry.path for entry in RevisionTree(git, "HEAD").entries("")] == ["b.yaml"]


def test_only_listed_variables_reach_git_and_each_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"GIT_TRACE": "1", "GIT_EXTERNAL_DIFF": "evil", "GIT_CONFIG_KEY_0": "a.b", "PATH": "/bin"}
    kept = child_environment("/nowhere", {**given, "GIT_SSH": "ssh", "GIT_INDEX_FILE": "x"})
    assert kept == {"GIT_CONFIG_KEY_0": "a.b", "PATH": "/bin", "GIT_SSH": "ssh", **FORCED}
    assert all({**KEPT_ALWAYS, **KEPT_HERE}.values())


def test_users_settings_change_no_answer(repo: Repo) -> None:
    """External diff, rename detection, quoting, colour and a pager are set as unkindly as can be."""
    for key, value in {
        "diff.external": "false",
        "diff.renames": "copies",
        "core.quotePath": "true",
        "color.ui": "always",
        "core.pager": "false",
        "diff.noprefix": "true",
        "diff.ignoreSubmodules": "all",
        "core.abbrev": "4",
        "log.showSignature": "true",
    }.items():
        repo.git("config", key, value)
    repo.git("mv", A, "configs/sampling/größer.yaml")
    moved = repo.neighbour().staged("configs")
    assert [(one.status, one.path) for one in moved] == [("D", A), ("A", "configs/sampling/größer.yaml")]
    assert all(len(one.before_oid or one.after_oid) == 40 for one in moved)


def test_a_rename_out_of_the_folder_is_a_deletion(repo: Repo) -> None:
    """D05: the old path counts, even when only governed folders are asked about."""
    (repo.path / "docs").mkdir()
    repo.git("mv", A, "docs/old.yaml")
    repo.commit()
    (moved,) = repo.neighbour().moved("HEAD~1", "HEAD", "configs/")
    assert (moved.status, moved.path, moved.after_oid, moved.after_mode) == ("D", A, "", "")


def test_a_rename_that_changes_only_case_is_two_changes(repo: Repo) -> None:
    repo.git("mv", A, "configs/sampling/A.yaml")
    repo.commit()
    moved = repo.neighbour().moved("HEAD~1", "HEAD")
    assert sorted((one.status, one.path) for one in moved) == [("A", "configs/sampling/A.yaml"), ("D", A)]


def test_odd_names_are_all_found_and_readable(repo: Repo) -> None:
    """D10: Chinese, a blank, a tab, a leading dash, a newline, bytes that are not UTF-8."""
    names = [
        "客服/系统提示.yaml",
        "with space.yaml",
        "tab\tname.yaml",
        "-dash.yaml",
        "new\nline.yaml",
        ":x*?[a]",
    ]
    paths = [f"configs/prompts/{name}" for name in names]
    repo.write(dict.fromkeys(paths, "a\n"))
    raw = os.fsencode(repo.path) + b"/configs/prompts/latin1-\xe9.yaml"
    Path(os.fsdecode(raw)).write_bytes(b"a\n")
    repo.commit()
    git = repo.neighbour()
    expected = sorted([*paths, "configs/prompts/latin1-\udce9.yaml"])
    for tree in (RevisionTree(git, "HEAD"), IndexTree(git)):
        assert [entry.path for entry in tree.entries("configs/prompts/")] == expected
        assert {tree.read(path) for path in expected} == {b"a\n"}
        dash = "configs/prompts/-dash.yaml"
        assert [entry.path for entry in tree.entries(dash)] == [dash]
    assert sorted(moved.path for moved in git.moved("HEAD~1", "HEAD")) == expected


def test_modes_become_kinds(repo: Repo, tmp_path: Path) -> None:
    inner = make_repo(repo.path / "configs/inner", files={"x": "x"})
    (repo.path / "configs/link").symlink_to("/etc/passwd")
    (repo.path / "configs/run.sh").write_text("x")
    (repo.path / "configs/run.sh").chmod(0o755)
    repo.commit()
    git = repo.neighbour()
    for tree in (RevisionTree(git, "HEAD"), IndexTree(git)):
        kinds = {entry.path: entry.kind for entry in tree.entries("configs/")}
        assert kinds == {
            A: Kind.FILE,
            "configs/inner": Kind.SUBMODULE,
            "configs/link": Kind.SYMLINK,
            "configs/run.sh": Kind.FILE,
        }
        for path in ("configs/link", "configs/inner"):
            with pytest.raises(Unreadable):
                tree.read(path)
    inner.commit("more", {"y": "y"})
    repo.git("add", "configs/inner")
    assert [moved.path for moved in git.staged("configs/")] == ["configs/inner"]


def test_a_file_replaced_by_a_link_is_a_type_change(repo: Repo) -> None:
    (repo.path / A).unlink()
    (repo.path / A).symlink_to("/etc/passwd")
    repo.git("add", A)
    (moved,) = repo.neighbour().staged()
    assert (moved.status, moved.before_mode, moved.after_mode) == ("T", "100644", "120000")


def test_a_mode_change_alone_is_a_change(repo: Repo) -> None:
    repo.git("update-index", "--chmod=+x", A)
    (moved,) = repo.neighbour().staged()
    assert moved.before_oid == moved.after_oid
    assert (moved.before_mode, moved.after_mode) == ("100644", "100755")


def test_before_the_first_commit_everything_staged_is_added(tmp_path: Path) -> None:
    """D09: there is no HEAD yet."""
    for sha256 in (False, True):
        repo = make_repo(tmp_path / f"new{sha256}", sha256=sha256)
        repo.write({A: "x\n"})
        repo.git("add", "-A")
        git = repo.neighbour()
        assert not git.has_commits()
        assert [(moved.status, moved.path) for moved in git.staged("configs/")] == [("A", A)]
        assert IndexTree(git).read(A) == b"x\n"
        with pytest.raises(Unreadable, match="`HEAD` has no commit yet"):
            git.resolve("HEAD")


def test_a_sha256_repository_is_read_the_same_way(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r", files={A: "x\n"}, sha256=True)
    repo.commit("second", {A: "y\n"})
    git = repo.neighbour()
    assert len(git.resolve("HEAD")) == 64
    assert RevisionTree(git, "HEAD~1").read(A) == b"x\n"
    assert [(one.status, len(one.after_oid)) for one in git.moved("HEAD~1", "HEAD")] == [("M", 64)]


def test_a_file_announced_with_add_n_is_not_part_of_the_commit(repo: Repo) -> None:
    repo.write({"configs/sampling/new.yaml": "x\n", "configs/sampling/empty.yaml": ""})
    repo.git("add", "configs/sampling/empty.yaml")
    repo.git("add", "-N", "configs/sampling/new.yaml")
    listed = [entry.path for entry in IndexTree(repo.neighbour()).entries("configs/")]
    assert listed == [A, "configs/sampling/empty.yaml"]


def test_an_unresolved_conflict_is_an_error_that_names_the_file(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("side", {A: "temperature: 0.5\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("main", {A: "temperature: 0.6\n"})
    with pytest.raises(AssertionError):
        repo.git("merge", "side")
    with pytest.raises(Unreadable, match="unresolved conflicts") as caught:
        IndexTree(repo.neighbour()).entries("configs/")
    assert caught.value.where == A


def test_line_end_conversion_and_filters_do_not_show(repo: Repo) -> None:
    """The blob is what the service gets; the file on disk may be smudged."""
    repo.commit("attributes", {".gitattributes": "*.yaml text eol=crlf\n"})
    (repo.path / A).unlink()
    repo.git("checkout", "--", A)
    assert (repo.path / A).read_bytes().endswith(b"\r\n")
    assert IndexTree(repo.neighbour()).read(A) == b"temperature: 0.1\n"


def test_a_sparse_checkout_hides_nothing(repo: Repo) -> None:
    repo.git("sparse-checkout", "set", "--sparse-index", "nowhere")
    assert not (repo.path / A).exists()
    git = repo.neighbour()
    assert [entry.path for entry in IndexTree(git).entries("configs/")] == [A]
    assert git.staged() == []


def test_many_blobs_come_back_in_the_order_asked_for(repo: Repo) -> None:
    files = {f"configs/prompts/p{n}.md": f"{n}\n" * (n % 7) * 400 for n in range(700)}
    repo.commit("many", files)
    tree = RevisionTree(repo.neighbour(), "HEAD")
    assert len(tree.entries("configs/prompts")) == 700
    tree.prefetch(files)
    assert {path: tree.read(path).decode() for path in files} == files
    assert tree.read("configs/prompts/p6.md") == files["configs/prompts/p6.md"].encode()


def test_a_scope_is_listed_at_once_and_the_rest_on_demand(repo: Repo) -> None:
    repo.commit("more", {"tierlock.yaml": "version: 1\n", "evals/smoke.jsonl": "{}\n"})
    tree = RevisionTree(repo.neighbour(), "HEAD", scope=("configs/", "tierlock.yaml"))
    assert [entry.path for entry in tree.entries("configs/sampling/")] == [A]
    assert [entry.path for entry in tree.entries("tierlock.yaml")] == ["tierlock.yaml"]
    assert tree.entries("configs/base/") == []
    assert [entry.path for entry in tree.entries("evals")] == ["evals/smoke.jsonl"]
    assert tree.read("README.md") == b"x\n"
    assert [entry.path for entry in tree.entries("")][-1] == "tierlock.yaml"


def test_a_governed_folder_inside_a_larger_repository_is_seen_from_within(repo: Repo) -> None:
    repo.commit("more", {"team/größe/configs/base/a.yaml": "x\n", "team/größe/tierlock.yaml": "version: 1\n"})
    git = repo.neighbour()
    folder = "team/größe"
    for tree in (RevisionTree(git, "HEAD", folder=folder), IndexTree(git, ("configs",), folder=folder)):
        assert [entry.path for entry in tree.entries("configs/")] == ["configs/base/a.yaml"]
        assert [entry.path for entry in tree.entries("")] == ["configs/base/a.yaml", "tierlock.yaml"]
        assert tree.read("configs/base/a.yaml") == b"x\n"
        with pytest.raises(Unreadable):
            tree.read("README.md")


def test_a_link_in_the_place_of_a_governed_folder_is_listed(repo: Repo) -> None:
    repo.git("rm", "-rq", "configs")
    (repo.path / "configs").symlink_to("/srv/configs")
    repo.commit()
    tree = RevisionTree(repo.neighbour(), "HEAD")
    assert [(entry.path, entry.kind) for entry in tree.entries("configs/base/")] == [
        ("configs", Kind.SYMLINK)
    ]


def test_a_blob_above_the_limit_is_refused_and_the_reader_recovers(repo: Repo) -> None:
    repo.write({"configs/big.bin": b""})
    with (repo.path / "configs/big.bin").open("wb") as out:
        out.truncate(64 * 1024 * 1024 + 1)
    repo.git("add", "-A")
    tree = IndexTree(repo.neighbour())
    with pytest.raises(Unreadable, match="more than"):
        tree.read("configs/big.bin")
    assert tree.read(A) == b"temperature: 0.1\n"


def test_a_lost_object_is_named(repo: Repo) -> None:
    oid = repo.git("rev-parse", f"HEAD:{A}")
    (repo.path / ".git/objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(Unreadable, match=oid[:12]) as caught:
        RevisionTree(repo.neighbour(), "HEAD").read(A)
    assert caught.value.hint


def test_a_linked_worktree_has_its_own_index_and_head(repo: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    linked = Repo(tmp_path / "linked")
    linked.write({A: "temperature: 0.3\n"})
    linked.git("add", A)
    assert [moved.path for moved in linked.neighbour().staged()] == [A]
    assert repo.neighbour().staged() == []
    assert find_root(tmp_path / "linked/configs") == str(tmp_path / "linked")


def test_the_top_level_is_found_from_below_and_in_a_bare_repository(repo: Repo, tmp_path: Path) -> None:
    assert find_root(repo.path / "configs/sampling") == str(repo.path)
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    root = find_root(tmp_path / "bare.git")
    assert root == str(tmp_path / "bare.git")
    assert RevisionTree(Git(root, isolated()), "main").read(A) == b"temperature: 0.1\n"


def test_a_folder_outside_of_git_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="not inside a git repository") as caught:
        Git(tmp_path, isolated(GIT_CEILING_DIRECTORIES=str(tmp_path))).resolve("HEAD")
    assert caught.value.hint == "git init"


def test_a_missing_git_is_a_missing_tool(repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    git = Git(repo.path)
    for ask in (lambda: git.resolve("HEAD"), lambda: git.blob("0" * 40, "x"), git.staged):
        with pytest.raises(MissingTool, match="`git` is not installed"):
            ask()


def test_a_missing_commit_in_a_shallow_clone_is_incomplete_history(repo: Repo, tmp_path: Path) -> None:
    """D04: 'no changes' is the wrong answer."""
    first = repo.git("rev-parse", "HEAD")
    for n in range(3):
        repo.commit("more", {A: f"temperature: 0.{n}\n"})
    repo.git("clone", "-q", "--depth", "1", repo.path.as_uri(), str(tmp_path / "shallow"))
    git = Repo(tmp_path / "shallow").neighbour()
    for revision in (first, first[:10], "HEAD~2", "v1"):
        with pytest.raises(IncompleteHistory) as caught:
            git.resolve(revision)
        assert caught.value.message == f"the clone is shallow: `{revision}` is not here"
        assert caught.value.hint.startswith("git fetch --unshallow")


def test_a_merge_base_that_was_cut_off_is_incomplete_history(repo: Repo, tmp_path: Path) -> None:
    repo.commit("two")
    repo.git("checkout", "-q", "-b", "side", "HEAD~1")
    repo.commit("side", {"side.txt": "x"})
    assert repo.neighbour().merge_base("main", "side") == repo.git("rev-parse", "main~1")
    repo.git(
        "clone", "-q", "--depth", "1", "--no-single-branch", repo.path.as_uri(), str(tmp_path / "shallow")
    )
    with pytest.raises(IncompleteHistory, match="the merge base"):
        Repo(tmp_path / "shallow").neighbour().merge_base("origin/main", "origin/side")
    repo.git("checkout", "-q", "--orphan", "alone")
    repo.commit("alone")
    with pytest.raises(Unreadable, match="no common ancestor"):
        repo.neighbour().merge_base("main", "alone")


def test_a_word_that_is_no_revision_names_the_nearest_one(repo: Repo) -> None:
    repo.git("tag", "v1.2.0")
    with pytest.raises(Unreadable, match=r"`v1.2.O` is not a revision") as caught:
        repo.neighbour().resolve("v1.2.O")
    assert caught.value.hint == "did you mean `v1.2.0`?"
    with pytest.raises(Unreadable, match="`nothing-like-it` is not a revision"):
        repo.neighbour().resolve("nothing-like-it")


def test_an_option_in_the_place_of_a_revision_is_no_option(repo: Repo) -> None:
    for word in ("--all", "-h", "--git-dir", ""):
        with pytest.raises((Unreadable, Usage)):
            repo.neighbour().resolve(word)


def test_a_name_of_a_branch_and_a_tag_is_refused_with_both_readings(repo: Repo) -> None:
    repo.git("branch", "v1")
    repo.commit("later")
    repo.git("tag", "v1")
    with pytest.raises(Usage) as caught:
        repo.neighbour().resolve("v1")
    assert "`refs/heads/v1` and `refs/tags/v1`" in caught.value.message
    assert repo.neighbour().resolve("refs/heads/v1") == repo.git("rev-parse", "main~1")


def test_a_short_id_of_two_commits_is_refused(repo: Repo) -> None:
    seen: dict[str, str] = {}
    tree = repo.git("rev-parse", "HEAD^{tree}")
    for n in range(3000):
        oid = repo.git("commit-tree", "-m", str(n), tree)
        if oid[:4] in seen:
            break
        seen[oid[:4]] = oid
    with pytest.raises(Usage, match="is ambiguous"):
        repo.neighbour().resolve(oid[:4])


def test_a_tree_or_a_blob_is_no_commit(repo: Repo) -> None:
    with pytest.raises(Unreadable, match="is a blob, not a commit"):
        repo.neighbour().resolve(f"HEAD:{A}")
    with pytest.raises(Unreadable, match="is a tree, not a commit"):
        repo.neighbour().resolve("HEAD^{tree}")


def test_an_annotated_tag_resolves_to_its_commit(repo: Repo) -> None:
    repo.git("tag", "-a", "-m", "x", "v2")
    assert repo.neighbour().resolve("v2") == repo.git("rev-parse", "HEAD")


def test_replaced_objects_are_not_shown(repo: Repo) -> None:
    """An id is asked for its own content, whatever refs/replace says locally."""
    real = repo.git("rev-parse", f"HEAD:{A}")
    (repo.path / "evil").write_text("temperature: 2\n")
    repo.git("replace", real, repo.git("hash-object", "-w", "evil"))
    assert RevisionTree(repo.neighbour(), "HEAD").read(A) == b"temperature: 0.1\n"


def test_a_change_prints_its_letter_and_short_ids() -> None:
    assert repr(Moved("a", "M", ("100644", "1" * 40), ("100644", "2" * 40))) == "Moved(M 'a' 1111111→2222222)"


@pytest.mark.parametrize("spawn", [True, False])
def test_a_call_carries_much_input_output_and_messages_at_once(spawn: bool) -> None:
    data = os.urandom(1 << 20)
    script = "cat; head -c 300000 /dev/zero >&2; exit 3"
    status, out, err = pipes.call(["sh", "-c", script], environment=os.environ, given=data, spawn=spawn)
    assert (status, out == data, len(err)) == (3, True, 300000)


@pytest.mark.parametrize("spawn", [True, False])
def test_a_program_that_reads_no_input_is_no_error(spawn: bool) -> None:
    status, out, _ = pipes.call(["echo", "x"], environment=os.environ, given=b"y" * 1_000_000, spawn=spawn)
    assert (status, out) == (0, b"x\n")


@pytest.mark.parametrize("spawn", [True, False])
def test_a_talk_reads_lines_and_sizes_and_ends(spawn: bool) -> None:
    talk = pipes.Talk(["cat"], environment=os.environ, spawn=spawn)
    talk.say(b"head\nbody" * 2)
    assert [talk.line(), talk.take(4), talk.line(), talk.take(4)] == [b"head", b"body", b"head", b"body"]
    talk.close()
    talk.close()
    ended = pipes.Talk(["true"], environment=os.environ, spawn=spawn)
    assert (ended.line(), ended.take(3)) == (b"", b"")
    ended.close()


@pytest.mark.parametrize("spawn", [True, False])
def test_a_missing_program_leaves_no_open_files(spawn: bool) -> None:
    gc.collect()  # what other tests left to the collector must not be closed in between
    before = len(list(Path("/proc/self/fd").iterdir()))
    for start in (pipes.Talk, pipes.call):
        with pytest.raises(MissingTool):
            start(["no-such-program"], environment=os.environ, spawn=spawn)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
