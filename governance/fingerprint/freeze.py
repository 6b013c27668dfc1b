"""Packages from a list of requirements: `pip freeze` output, or a lock with hashes.

- Order, case, comments, blank lines, line ends and continuation lines mean nothing; names, versions, markers
  and the set of allowed hashes do.
- `name @ file:///…` and `-e …` name a folder, not a version: the package is kept, its version is unknown.
- A line that fixes no version (`name>=1`) or is not understood is kept as unknown, never skipped.
- One name twice under the same marker is an error naming both lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from governance.errors import Unreadable
from governance.fingerprint.packages import TWICE, Form, Package, Packages, public_url
from governance.fingerprint.versions import normal_name, normal_version

_NAME: Final = re.compile(
    r"\s*(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*(?P<rest>.*)"
)
_COMMIT: Final = re.compile(r"@([0-9a-f]{40,64})(?:$|[#?])")
_EGG: Final = re.compile(r"[#&]egg=([A-Za-z0-9._-]+)")
_HASH: Final = re.compile(r"--hash[= ]\s*([a-z0-9]+):([0-9a-f]+)")
_ARCHIVE_HASH: Final = re.compile(r"[#&]sha256=([0-9a-f]{64})")
_OPTIONS: Final = (
    "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--no-index", "--trusted-host", "--pre",
    "--prefer-binary", "--require-hashes", "--no-binary", "--only-binary", "--use-feature",
)  # fmt: skip


def from_list(data: bytes, path: str, *, versions: Mapping[str, str] | None = None) -> Packages:
    """The packages of a `pip freeze` output or requirements lock; `path` is for messages.

    `versions` (name to version, from installed metadata) fills in what a build path hides. Raises
    `Unreadable` when the bytes are not text.
    """
    known = {normal_name(name): version for name, version in (versions or {}).items()}
    listed = [
        _with_known(p, known)
        for number, line in _lines(text_of(data, path), path)
        for p in _parse(line, number, path)
    ]
    return collect("lock" if any(p.hashes for p in listed) else "freeze", listed)


def text_of(data: bytes, path: str) -> str:
    """The text of a list, UTF-8 or UTF-16 with a mark. Raises `Unreadable`."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        raise Unreadable(f"`{path}` is not UTF-8 text", where=f"{path}: byte {err.start}") from err


def _lines(text: str, path: str) -> Iterator[tuple[int, str]]:
    """Logical lines with the number of their first line; comments and continuations are gone."""
    start, parts = 0, ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw if raw.lstrip().startswith("#") is False else ""
        start = start if parts else number
        if line.endswith("\\"):
            parts += line[:-1] + " "
            continue
        whole = re.sub(r"(^|\s)#(?!(?:egg|subdirectory|sha\d+)=).*$", "", parts + line).strip()
        parts = ""
        if whole:
            yield start, whole
    if parts.strip():
        raise Unreadable(f"`{path}` ends inside a continued line", where=f"{path}:{start}")


def _parse(line: str, number: int, path: str) -> Iterator[Package]:
    if line.startswith(("-r", "--requirement", "-c", "--constraint")):
        yield Package(line, None, doubt="refers to another list", source=path, line=number)
    elif line.startswith(("-e", "--editable")):
        yield _editable(line.split(None, 1)[-1], number, path)
    elif line.startswith("-"):
        if not line.startswith(_OPTIONS):
            yield Package(line, None, doubt="is an option this tool does not know", source=path, line=number)
    else:
        yield _requirement(line, number, path)


def _editable(target: str, number: int, path: str) -> Package:
    egg = _EGG.search(target)
    commit = _COMMIT.search(target)
    name = (
        normal_name(egg[1])
        if egg
        else target.rstrip("/").rpartition("/")[2].partition("#")[0].partition("@")[0]
    )
    doubt = "installed from a working folder (editable)"
    vcs = f"git+{commit[1]}" if commit else ""
    return Package(
        normal_name(name) or target, None, vcs=vcs, editable=True, doubt=doubt, source=path, line=number
    )


def _requirement(line: str, number: int, path: str) -> Package:
    hashes = tuple(sorted({f"{kind}:{value}" for kind, value in _HASH.findall(line)}))
    body = line.partition(" --")[0]
    match = _NAME.fullmatch(body)
    if match is None:
        return Package(body.strip(), None, doubt="is not a requirement", source=path, line=number)
    rest, _, marker = _split_marker(match["rest"])
    package = Package(
        normal_name(match["name"]),
        None,
        hashes=hashes,
        marker=" ".join(marker.replace("'", '"').split()),
        source=path,
        line=number,
    )
    if rest.startswith("@"):
        return _from_url(package, rest[1:].strip())
    exact = re.fullmatch(r"===?\s*([^\s,;*]+)", rest)
    if exact is None:
        return package._replace(doubt="no exact version: `" + (rest or match["name"]) + "`")
    return package._replace(version=exact[1])


def _split_marker(rest: str) -> tuple[str, str, str]:
    """The part before and after the marker; in a URL the `;` of a marker has a space before it."""
    sign = " ;" if rest.lstrip().startswith("@") else ";"
    head, found, marker = rest.partition(sign)
    return head.strip(), found, marker.strip()


def _from_url(package: Package, url: str) -> Package:
    if url.startswith(("file:", "/", ".")) or "://" not in url:
        return package._replace(doubt="only a build path is given, no version")
    commit = _COMMIT.search(url)
    if commit and "+" in url.partition("://")[0]:
        kind = url.partition("+")[0]
        return package._replace(version="", vcs=f"{kind}+{commit[1]}", url=public_url(url))
    digest = _ARCHIVE_HASH.search(url)
    if digest:
        return package._replace(version="", archive=f"sha256:{digest[1]}", url=public_url(url))
    if url.partition("://")[0].rpartition("+")[2] == "file":
        return package._replace(doubt="only a build path is given, no version")
    if "+" in url.partition("://")[0]:
        return package._replace(doubt="names a repository and no commit")
    return package._replace(version="", url=public_url(url))


def _with_known(package: Package, known: Mapping[str, str]) -> Package:
    version = known.get(package.name)
    if (
        version is None
        or package.editable
        or package.version is not None
        or not package.doubt.startswith("only a build")
    ):
        return package
    return package._replace(version=version, doubt="")


def collect(form: Form, listed: list[Package]) -> Packages:
    """The packages of a list, sorted; one name twice under one marker is a doubt that names both."""
    chosen: dict[tuple[str, str], Package] = {}
    for package in listed:
        key = (package.name, package.marker)
        first = chosen.get(key)
        if first is None:
            chosen[key] = package
        elif _contradict(first, package) and not first.doubt.startswith(TWICE):
            doubt = f"{TWICE}{first.place} and {package.place}"
            chosen[key] = package._replace(version=None, doubt=doubt)
    packages = tuple(chosen[key] for key in sorted(chosen))
    return Packages(form, packages)


def _contradict(first: Package, second: Package) -> bool:
    return first.version is None or second.version is None or (
        normal_version(first.version), first.vcs, first.archive, first.url, first.hashes
    ) != (normal_version(second.version), second.vcs, second.archive, second.url, second.hashes)  # fmt: skip
