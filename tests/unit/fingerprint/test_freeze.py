"""Package lists: what may differ without a difference, and what may not pass unseen."""

from __future__ import annotations

import pytest

from governance.errors import Unreadable
from governance.fingerprint.freeze import from_list
from governance.fingerprint.lockfiles import from_lock
from governance.fingerprint.packages import layer_value
from governance.values import Unknown

SAME = [
    ("order", b"a==1\nb==2\n", b"b==2\na==1\n"),
    ("case and separators of names", b"Typing_Extensions==4.1\n", b"typing-extensions==4.1\n"),
    ("line ends", b"a==1\nb==2\n", b"a==1\r\nb==2\r\n"),
    ("comments", b"a==1\n", b"# made by x\na==1  # via b\n\n"),
    ("a byte order mark", b"a==1\n", b"\xef\xbb\xbfa==1\n"),
    ("UTF-16 of a Windows shell", b"a==1\n", "a==1\n".encode("utf-16")),
    ("trailing zeros", b"a==6.2\n", b"a==6.2.0\n"),
    ("case of the build label", b"torch==2.6.0+cu124\n", b"torch==2.6.0+CU124\n"),
    ("blanks", b"a==1\n", b"  a == 1 \n"),
    ("index options", b"a==1\n", b"--index-url https://i.example/simple\n--extra-index-url=x\na==1\n"),
    (
        "continuation lines",
        b"a==1 --hash=sha256:aa --hash=sha256:bb\n",
        b"a==1 \\\n  --hash=sha256:bb \\\n  --hash=sha256:aa\n",
    ),
    ("a repeated line", b"a==1\n", b"a==1\na==1.0\n"),
    ("quotes of a marker", b"a==1 ; python_version < '3.12'\n", b'a==1;python_version   <   "3.12"\n'),
    ("extras", b"a==1\n", b"a[x,y]==1\n"),
]
DIFFERENT = [
    ("another version", b"a==1\n", b"a==2\n"),
    ("a build label", b"torch==2.6.0+cu124\n", b"torch==2.6.0\n"),
    ("a post release", b"a==1\n", b"a==1.post1\n"),
    ("another hash", b"a==1 --hash=sha256:aa\n", b"a==1 --hash=sha256:bb\n"),
    ("a marker", b"a==1\n", b"a==1 ; sys_platform == 'win32'\n"),
    ("a missing package", b"a==1\nb==1\n", b"a==1\n"),
    (
        "another commit",
        b"a @ git+https://h.example/a@" + b"a" * 40,
        b"a @ git+https://h.example/a@" + b"b" * 40,
    ),
]
UNKNOWN = [
    ("a build path", b"numpy @ file:///opt/build/work\n", "numpy"),
    ("a bare path", b"./dist/a.whl\n", "./dist/a.whl"),
    ("an editable", b"-e git+https://h.example/a@main#egg=engine\n", "engine"),
    ("an editable folder", b"-e ./engine\n", "engine"),
    ("a range", b"numpy>=1\n", "numpy"),
    ("no version", b"numpy\n", "numpy"),
    ("a wildcard", b"numpy==1.*\n", "numpy"),
    ("a branch", b"a @ git+https://h.example/a@main\n", "a"),
    ("another list", b"-r base.txt\n", "-r base.txt"),
    ("an unknown option", b"--magic\n", "--magic"),
    ("nonsense", b"???\n", "???"),
]


@pytest.mark.parametrize(("what", "left", "right"), SAME, ids=[row[0] for row in SAME])
def test_a_list_means_the_same_whatever_its(what: str, left: bytes, right: bytes) -> None:
    assert layer_value(from_list(left, "a.txt")) == layer_value(from_list(right, "b.txt"))


@pytest.mark.parametrize(("what", "left", "right"), DIFFERENT, ids=[row[0] for row in DIFFERENT])
def test_a_list_differs_by(what: str, left: bytes, right: bytes) -> None:
    values = layer_value(from_list(left, "a.txt")), layer_value(from_list(right, "b.txt"))
    assert not isinstance(values[0], Unknown)
    assert values[0] != values[1]


@pytest.mark.parametrize(("what", "data", "name"), UNKNOWN, ids=[row[0] for row in UNKNOWN])
def test_the_layer_is_unknown_and_names_what_is_only(what: str, data: bytes, name: str) -> None:
    found = from_list(b"requests==2.31.0\n" + data, "freeze.txt")
    value = layer_value(found)
    assert isinstance(value, Unknown)
    assert name in value.reason
    assert any(f.path == "freeze.txt" and f.line == 2 for f in found.findings)


def test_one_package_twice_names_both_lines() -> None:
    found = from_list(b"vllm==0.8.4\nx==1\nVLLM==0.7.3\n", "dup.txt")
    (finding,) = found.findings
    assert finding.code == "TL950"
    assert finding.blocks
    assert "dup.txt:1" in finding.message
    assert "dup.txt:3" in finding.message
    assert isinstance(layer_value(found), Unknown)


def test_one_package_under_two_markers_is_not_twice() -> None:
    data = b"numpy==1.26.4 ; python_version < '3.12'\nnumpy==2.0.1 ; python_version >= '3.12'\n"
    assert not from_list(data, "r.txt").findings


def test_metadata_fills_in_the_version_behind_a_build_path() -> None:
    data = b"numpy @ file:///opt/build/work\n"
    found = from_list(data, "f.txt", versions={"NumPy": "1.26.4"})
    assert layer_value(found) == layer_value(from_list(b"numpy==1.26.4\n", "f.txt"))


def test_a_list_that_ends_inside_a_line_is_refused_with_its_place() -> None:
    with pytest.raises(Unreadable, match=r"cut\.txt:2"):
        from_list(b"a==1\nb==2 \\\n", "cut.txt")


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(Unreadable, match="not UTF-8"):
        from_list(b"a==1\n\xff\xfe\xfa", "x.txt")


UV_LOCK = b"""
version = 1
[[package]]
name = "torch"
version = "2.6.0+cu124"
source = { registry = "https://i.example/simple" }
wheels = [{ url = "https://i.example/t.whl", hash = "sha256:aa" }, { url = "u", hash = "sha256:bb" }]
[[package]]
name = "engine"
version = "0.1"
source = { git = "https://h.example/engine?rev=main#aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" }
[[package]]
name = "project"
version = "0.1"
source = { virtual = "." }
"""


def test_a_uv_lock_is_read_without_the_project_itself() -> None:
    found = from_lock(UV_LOCK, "project/uv.lock")
    assert [(p.name, p.version, p.vcs) for p in found.packages] == [
        ("engine", "0.1", "git+" + "a" * 40),
        ("torch", "2.6.0+cu124", ""),
    ]
    assert found.packages[1].hashes == ("sha256:aa", "sha256:bb")
    assert not isinstance(layer_value(found), Unknown)


PYLOCK = b"""
lock-version = "1.0"
[[packages]]
name = "numpy"
version = "2.0.1"
wheels = [{ name = "n.whl", hashes = { sha256 = "cc" } }]
[[packages]]
name = "local"
directory = { path = "." }
"""


def test_a_pylock_is_read_and_a_local_folder_in_it_is_unknown() -> None:
    found = from_lock(PYLOCK, "pylock.toml")
    numpy = found.get("numpy")
    assert numpy is not None
    assert numpy.hashes == ("sha256:cc",)
    value = layer_value(found)
    assert isinstance(value, Unknown)
    assert "local" in value.reason


@pytest.mark.parametrize("data", [b"[[package", b"package = 3\n", b""])
def test_a_lock_that_is_not_one_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable):
        from_lock(data, "uv.lock")


POETRY = b"""
[[package]]
name = "torch"
version = "2.6.0+cu124"
files = [{ file = "t.whl", hash = "sha256:aa" }]
[[package]]
name = "engine"
version = "0.1"
[package.source]
type = "git"
url = "https://h.example/engine.git"
reference = "main"
resolved_reference = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
"""


def test_a_poetry_lock_is_read() -> None:
    found = from_lock(POETRY, "poetry.lock")
    assert [(p.name, p.version, p.vcs, p.hashes) for p in found.packages] == [
        ("engine", "0.1", "git+" + "a" * 40, ()),
        ("torch", "2.6.0+cu124", "", ("sha256:aa",)),
    ]
    local = from_lock(POETRY.replace(b'type = "git"', b'type = "directory"'), "poetry.lock")
    assert isinstance(layer_value(local), Unknown)


PIPFILE = b"""{"default": {"numpy": {"version": "==2.0.1", "hashes": ["sha256:cc"], "markers": "x"},
"tool": {"git": "https://h.example/tool.git", "ref": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},
"mine": {"path": ".", "editable": true}}, "develop": {"pytest": {"version": "==8"}}}"""


def test_a_pipfile_lock_is_read_without_what_is_for_development() -> None:
    found = from_lock(PIPFILE, "Pipfile.lock")
    assert [(p.name, p.version, bool(p.vcs), p.editable) for p in found.packages] == [
        ("mine", None, False, True),
        ("numpy", "2.0.1", False, False),
        ("tool", "", True, False),
    ]


EXPLICIT = b"""# platform: linux-64
@EXPLICIT
https://conda.example/conda-forge/linux-64/pytorch-2.5.1-cuda126_py312_h1_3.conda#0123456789abcdef0123456789abcdef
https://u:p@conda.example/nvidia/noarch/cudnn-9.1.0.70-0.tar.bz2
"""


def test_an_explicit_list_of_conda_is_read_with_the_build() -> None:
    found = from_lock(EXPLICIT, "spec.txt")
    assert [tuple(c) for c in found.conda] == [
        ("cudnn", "9.1.0.70", "0", "nvidia", ""),
        ("pytorch", "2.5.1", "cuda126_py312_h1_3", "conda-forge", "md5:0123456789abcdef0123456789abcdef"),
    ]
    other = from_lock(EXPLICIT.replace(b"cuda126", b"cuda124"), "spec.txt")
    assert layer_value(found) != layer_value(other)


@pytest.mark.parametrize("data", [b"", b"[]", b'{"default": {"a": "1"}}'])
def test_a_pipfile_lock_that_is_not_one_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable):
        from_lock(data, "Pipfile.lock")
