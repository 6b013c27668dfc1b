"""Packages from the lock files of package managers, by the name of the file.

- `uv.lock`, `pylock.toml`, `poetry.lock`, `pdm.lock`, `Pipfile.lock`, conda's explicit lists; anything else
  is read as a requirements file.
- The project itself is not one of its packages. What comes from a local folder has no version that pins it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from governance.errors import Unreadable
from governance.fingerprint.freeze import collect, from_list, text_of
from governance.fingerprint.packages import CondaPackage, Package, Packages, public_url
from governance.fingerprint.versions import normal_name

LOCAL: Final = "comes from a local folder"
NO_VERSION: Final = "no version in the lock"


def from_lock(data: bytes, path: str) -> Packages:
    """The packages of any list by the name of its file. Raises `Unreadable` when it is not what its name
    says.
    """
    name = path.replace("\\", "/").rpartition("/")[2]
    if name == "uv.lock":
        return collect("lock", list(_uv(_toml(data, path), path)))
    if name.startswith("pylock") and name.endswith(".toml"):
        return collect("lock", list(_pylock(_toml(data, path), path)))
    if name in ("poetry.lock", "pdm.lock"):
        return collect("lock", list(_poetry(_toml(data, path), path)))
    if name == "Pipfile.lock":
        return collect("lock", list(_pipfile(data, path)))
    if b"@EXPLICIT" in data:
        return _conda_explicit(text_of(data, path))
    return from_list(data, path)


def _toml(data: bytes, path: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text_of(data, path))
    except tomllib.TOMLDecodeError as err:
        raise Unreadable(f"`{path}` is not TOML: {err}", where=path) from err


def _tables(value: object, path: str, what: str) -> Iterable[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Unreadable(f"`{path}` has no list of packages", where=f"{path}: {what}")
    return value


def _hashes(files: Iterable[Any], key: str) -> tuple[str, ...]:
    return tuple(sorted({str(f[key]) for f in files if isinstance(f, dict) and key in f}))


def _uv(tree: Mapping[str, Any], path: str) -> Iterator[Package]:
    for item in _tables(tree.get("package"), path, "package"):
        source = item.get("source", {})
        files = [*item.get("wheels", []), *([item["sdist"]] if "sdist" in item else [])]
        package = Package(
            normal_name(str(item.get("name", ""))),
            str(item.get("version", "")) or None,
            hashes=_hashes(files, "hash"),
            marker=" or ".join(map(str, item.get("resolution-markers", []))),
            source=path,
        )
        if source.get("virtual") == "." or source.get("editable") == ".":
            continue
        if {"editable", "directory", "virtual"} & set(source):
            yield package._replace(version=None, editable="editable" in source, doubt=LOCAL)
        elif "git" in source:
            address, _, commit = str(source["git"]).rpartition("#")
            yield package._replace(vcs=f"git+{commit}", url=public_url(address))
        else:
            yield _versioned(package)


def _pylock(tree: Mapping[str, Any], path: str) -> Iterator[Package]:
    for item in _tables(tree.get("packages"), path, "packages"):
        archives = [*item.get("wheels", []), *(item[k] for k in ("sdist", "archive") if k in item)]
        hashes = tuple(sorted({f"{k}:{v}" for a in archives for k, v in a.get("hashes", {}).items()}))
        version = item.get("version")
        package = Package(
            normal_name(str(item.get("name", ""))),
            version,
            hashes=hashes,
            marker=str(item.get("marker", "")),
            source=path,
        )
        vcs = item.get("vcs", {})
        if "commit-id" in vcs:
            yield package._replace(version=version or "", vcs=f"{vcs.get('type', 'git')}+{vcs['commit-id']}")
        elif "directory" in item:
            yield package._replace(version=None, doubt=LOCAL)
        elif version is None and not hashes:
            yield package._replace(doubt=NO_VERSION)
        else:
            yield package._replace(version=version or "")


def _poetry(tree: Mapping[str, Any], path: str) -> Iterator[Package]:
    """`poetry.lock` and `pdm.lock`: the same tables, the source of a package in other places."""
    for item in _tables(tree.get("package"), path, "package"):
        source = item.get("source", {})
        commit = source.get("resolved_reference") or item.get("revision", "")
        package = Package(
            normal_name(str(item.get("name", ""))),
            str(item.get("version", "")) or None,
            vcs=f"git+{commit}" if commit else "",
            hashes=_hashes(item.get("files", []), "hash"),
            marker=str(item.get("marker", "")),
            source=path,
        )
        if source.get("type") in ("directory", "file") or "path" in item:
            yield package._replace(version=None, editable=item.get("develop") is True, doubt=LOCAL)
        else:
            yield _versioned(package)


def _pipfile(data: bytes, path: str) -> Iterator[Package]:
    try:
        tree = json.loads(text_of(data, path))
        entries = dict(tree["default"])
    except (ValueError, KeyError, TypeError) as err:
        raise Unreadable(f"`{path}` is not a Pipfile.lock", where=path) from err
    for name, item in entries.items():
        if not isinstance(item, dict):
            raise Unreadable(f"`{path}` is not a Pipfile.lock", where=f"{path}: {name}")
        version = str(item.get("version", "")).removeprefix("==") or None
        commit = str(item.get("ref", ""))
        package = Package(
            normal_name(name),
            version,
            vcs=f"git+{commit}" if commit else "",
            hashes=tuple(sorted(map(str, item.get("hashes", [])))),
            marker=str(item.get("markers", "")),
            source=path,
        )
        if "path" in item or item.get("editable") is True:
            yield package._replace(version=None, editable=item.get("editable") is True, doubt=LOCAL)
        else:
            yield package._replace(version=version or "") if commit else _versioned(package)


def _versioned(package: Package) -> Package:
    return package if package.version is not None else package._replace(doubt=NO_VERSION)


def _conda_explicit(text: str) -> Packages:
    """`conda list --explicit`: one address per package, `…/linux-64/name-version-build.conda#digest`."""
    found = []
    for line in map(str.strip, text.splitlines()):
        if "://" not in line:
            continue
        address, _, digest = line.partition("#")
        channel, _, file = public_url(address).rpartition("/")
        stem = file.removesuffix(".conda").removesuffix(".tar.bz2")
        name, version, build = ([*stem.rsplit("-", 2), "", ""])[:3]
        kind = {32: "md5:", 64: "sha256:"}.get(len(digest), "")
        found.append(
            CondaPackage(name, version, build, channel.rpartition("/")[0].rpartition("/")[2], kind + digest)
        )
    return Packages("lock", (), tuple(sorted(found)))
