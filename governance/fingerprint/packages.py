"""The packages layer: what the distributions of one interpreter, or a list of them, say they are.

- A package is known by normal name, full version with local label, RECORD digest, VCS commit or archive
  digest.
- The RECORD digest covers the lines that came with the wheel: sorted, without those an installer adds and
  without console scripts, so pip and uv, and two hosts, agree; two wheels of one version differ.
- A build path is no pin: `numpy @ file:///build/work` has no version, and the layer is unknown. An editable
  install is not pinned either. One package twice in one place is an error that names both.
- Lists (`pip freeze`, lock files) know less than an environment; `form` says which, and is part of the
  digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from governance.fingerprint.versions import normal_name, normal_version
from governance.values import Json, Tree, Unknown

if TYPE_CHECKING:
    from governance.adapters.packages import Distribution
    from governance.verdict import Finding

Form: TypeAlias = Literal["environment", "freeze", "lock"]
FORMS: Final[dict[str, Form]] = {"environment": "environment", "freeze": "freeze", "lock": "lock"}

_INSTALLER_FILES: Final = (
    b"/INSTALLER,",
    b"/REQUESTED,",
    b"/direct_url.json,",
    b"/uv_cache.json,",
    b"/uv_build.json,",
)
_SCRIPT_FOLDERS: Final = (b"/bin/", b"/Scripts/")


@dataclass(frozen=True, slots=True)
class Package:
    """One distribution. `version` is `None` when it is not known and `doubt` then says why.

    `record` is the RECORD digest, `archive` a digest of the archive (`sha256:…`), `vcs` is `git+<commit>`,
    `hashes` are the digests a lock file allows. `source` is where it was read, for people; not in the digest.
    """

    name: str
    version: str | None
    record: str | None = None
    vcs: str = ""
    archive: str = ""
    url: str = ""
    editable: bool = False
    marker: str = ""
    hashes: tuple[str, ...] = ()
    doubt: str = ""
    source: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class CondaPackage:
    """One record of `conda-meta`, Python or not: its build text tells the CUDA it was built for."""

    name: str
    version: str
    build: str
    channel: str
    digest: str


@dataclass(frozen=True, slots=True)
class Packages:
    """All packages of one place, sorted by name, and what was noticed on the way."""

    form: Form
    packages: tuple[Package, ...]
    conda: tuple[CondaPackage, ...] = ()
    findings: tuple[Finding, ...] = field(default=(), compare=False)

    def get(self, name: str) -> Package | None:
        """The package of this name in any spelling."""
        wanted = normal_name(name)
        return next((p for p in self.packages if p.name == wanted), None)


def from_distributions(
    found: Iterable[Distribution],
    conda: Iterable[tuple[str, bytes]] = (),
    prefix: str = "",
) -> Packages:
    """The packages of an environment from the bytes of its metadata folders.

    The first folder on the import path wins; one name twice in one folder is an error. Places are shown
    relative to `prefix`.
    """
    chosen: dict[str, Package] = {}
    sites: dict[str, str] = {}
    twice: dict[str, tuple[Package, Package]] = {}
    for item in found:
        package = _package(item, prefix)
        if package is None:
            continue
        first = chosen.get(package.name)
        if first is None:
            chosen[package.name] = package
            sites[package.name] = item.site
        elif sites[package.name] == item.site and not _same_thing(first, package):
            twice[package.name] = (first, package)
        elif sites[package.name] == item.site and package.record is not None:
            chosen[package.name] = replace(package, editable=first.editable or package.editable)
    for name, (first, second) in twice.items():
        chosen[name] = replace(
            first, version=None, doubt=f"installed twice: {first.source} and {second.source}"
        )
    packages = tuple(chosen[name] for name in sorted(chosen))
    return Packages("environment", packages, tuple(_conda(conda)), findings(packages, twice.values()))


def _same_thing(first: Package, second: Package) -> bool:
    """Whether two folders describe one install: an egg-link beside its egg-info, or two spellings of one
    folder.
    """
    if first.version is None or second.version is None:
        return first.editable or second.editable
    return normal_version(first.version) == normal_version(second.version) and first.record == second.record


def _package(item: Distribution, prefix: str) -> Package | None:
    stem, kind = item.folder.rsplit(".", 1)
    if stem.startswith(("~", "-")):
        return None
    name, version = _name_version(stem, kind, item.metadata)
    if not name:
        return None
    place = item.site.removeprefix(prefix).lstrip("/") if prefix else item.site.rsplit("/", 1)[-1]
    package = Package(normal_name(name), version, source=f"{place}/{item.folder}")
    if item.record is not None:
        package = replace(package, record=record_digest(item.record))
    if item.direct_url is not None:
        package = _with_direct_url(package, item.direct_url)
    if kind == "egg-link":
        package = replace(package, editable=True)
    if package.editable:
        return replace(package, doubt="installed from a working folder (editable)")
    if package.version is None:
        return replace(package, doubt="its metadata names no version")
    return package


def _name_version(stem: str, kind: str, metadata: bytes | None) -> tuple[str, str | None]:
    name, _, rest = stem.partition("-")
    if kind == "dist-info" and rest:
        return name, rest
    if kind in ("egg-info", "egg") and rest:
        return name, rest.partition("-py")[0]
    headers = metadata_headers(metadata or b"")
    return headers.get("name", name), headers.get("version")


def metadata_headers(metadata: bytes) -> dict[str, str]:
    """`name` and `version` of a METADATA or PKG-INFO file; the first of each, before the description."""
    found: dict[str, str] = {}
    for line in metadata.decode("utf-8", "replace").splitlines():
        if not line:
            break
        key, sign, value = line.partition(":")
        if sign and key.lower() in ("name", "version") and key.lower() not in found:
            found[key.lower()] = value.strip()
    return found


def record_digest(record: bytes) -> str:
    """The 64-hex SHA-256 of the RECORD lines that came with the wheel, sorted and joined by newlines.

    Left out: lines without a hash (compiled files, RECORD itself), files that installers write, console
    scripts. Line ends do not count: pip writes CRLF and uv LF.
    """
    lines = [line for line in record.splitlines() if line[-2:] != b",," and line]
    lines.sort()
    if lines and lines[0][:3] == b"../":
        lines = [line for line in lines if line[:3] != b"../" or not _is_script(line)]
    if any(name in record for name in _INSTALLER_FILES):
        lines = [line for line in lines if not _is_installer_file(line)]
    if b".pyc," in record:
        lines = [line for line in lines if b".pyc," not in line]
    return sha256(b"\n".join(lines)).hexdigest()


def _is_script(line: bytes) -> bool:
    path = line.partition(b",")[0]
    return any(folder in path for folder in _SCRIPT_FOLDERS)


def _is_installer_file(line: bytes) -> bool:
    head, _, _ = line.partition(b",")
    folder, _, name = head.rpartition(b"/")
    return folder.endswith(b".dist-info") and b"/" + name + b"," in _INSTALLER_FILES


def _with_direct_url(package: Package, data: bytes) -> Package:
    import json

    try:
        value = json.loads(data)
        url = str(value["url"])
    except (ValueError, KeyError, TypeError):
        return replace(package, version=None, doubt="its direct_url.json cannot be read")
    vcs, archive, folder = (value.get(k) or {} for k in ("vcs_info", "archive_info", "dir_info"))
    if vcs.get("commit_id"):
        return replace(package, vcs=f"{vcs.get('vcs', 'git')}+{vcs['commit_id']}", url=public_url(url))
    if folder.get("editable"):
        return replace(package, editable=True)
    digest = (archive.get("hashes") or {}).get("sha256") or str(archive.get("hash", "")).removeprefix(
        "sha256="
    )
    if digest:
        return replace(package, archive=f"sha256:{digest}", url=public_url(url))
    return replace(package, url=public_url(url))


def public_url(url: str) -> str:
    """`url` without user, password and query, and empty for a local path, which pins nothing."""
    scheme, sign, rest = url.partition("://")
    if not sign or scheme.rpartition("+")[2] == "file":
        return ""
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path.partition('?')[0].partition('#')[0]}"


def _conda(records: Iterable[tuple[str, bytes]]) -> Iterable[CondaPackage]:
    import json

    for name, data in records:
        try:
            value = json.loads(data)
            digest = value.get("sha256") or value.get("md5") or ""
            kind = "sha256" if value.get("sha256") else "md5"
            channel = str(value.get("channel", "")).rstrip("/").rpartition("/")[0].rpartition("/")[2]
            yield CondaPackage(
                str(value["name"]),
                str(value["version"]),
                str(value.get("build", "")),
                channel or str(value.get("channel", "")),
                f"{kind}:{digest}" if digest else "",
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            yield CondaPackage(name.removesuffix(".json"), "", "", "", "")


def findings(
    packages: Sequence[Package], twice: Iterable[tuple[Package, Package]] = ()
) -> tuple[Finding, ...]:
    """What there is to say about these packages: twice, version unknown, not pinned, contents not told
    apart.
    """
    doubtful = [p for p in packages if p.doubt]
    pairs = list(twice)
    bare = [p for p in packages if p.record is None and not p.doubt and p.source and p.line == 0]
    if not (doubtful or pairs or bare):
        return ()
    from governance.fingerprint.notices import notice

    result = [
        notice(
            "TL950",
            f"`{a.name}` is here twice: {_where(a)} and {_where(b)}",
            path=b.source if b.line else "",
            line=b.line,
            key=a.name,
        )
        for a, b in pairs
    ]
    named_twice = {a.name for a, _ in pairs}
    for package in doubtful:
        if package.name not in named_twice:
            code = "TL952" if package.editable else "TL951"
            path = package.source if package.line else ""
            text = f"`{package.name}`: {package.doubt}"
            result.append(notice(code, text, path=path, line=package.line, key=package.name))
    if bare:
        names = ", ".join(p.name for p in bare[:5]) + (f" and {len(bare) - 5} more" if len(bare) > 5 else "")
        result.append(notice("TL982", f"{len(bare)} packages have no RECORD: {names}"))
    return tuple(result)


def _where(package: Package) -> str:
    version = package.version or "version unknown"
    return f"{version} ({package.source}:{package.line})" if package.line else f"{version} ({package.source})"


def layer_value(packages: Packages) -> Tree | Unknown:
    """What the packages digest is taken from, or `Unknown` naming the packages that are not known."""
    doubtful = [p for p in packages.packages if p.doubt]
    if doubtful:
        named = ", ".join(f"{p.name} ({p.doubt})" for p in doubtful[:5])
        return Unknown(named + (f" and {len(doubtful) - 5} more" if len(doubtful) > 5 else ""))
    if not packages.packages and not packages.conda:
        return Unknown("no package was found")
    value: dict[str, Json] = {
        "form": packages.form,
        "packages": [_package_value(p) for p in packages.packages],
    }
    if packages.conda:
        value["conda"] = [[c.name, c.version, c.build, c.channel, c.digest] for c in packages.conda]
    return value


def _package_value(package: Package) -> Tree:
    value: dict[str, Json] = {"name": package.name, "version": normal_version(package.version or "")}
    if package.record is not None:
        value["record"] = package.record
    if package.vcs:
        value["vcs"] = package.vcs
    elif package.archive:
        value["archive"] = package.archive
    elif package.url:
        value["url"] = package.url
    if package.marker:
        value["marker"] = package.marker
    if package.hashes:
        value["hashes"] = list(package.hashes)
    return value


def to_json(packages: Packages) -> Tree:
    """Everything a record keeps of these packages; `from_json` reads it back."""
    return {
        "form": packages.form,
        "packages": [_package_json(p) for p in packages.packages],
        "conda": [[c.name, c.version, c.build, c.channel, c.digest] for c in packages.conda],
    }


def _package_json(package: Package) -> Tree:
    full: dict[str, Json] = {
        "name": package.name,
        "version": package.version,
        "record": package.record,
        "vcs": package.vcs,
        "archive": package.archive,
        "url": package.url,
        "editable": package.editable,
        "marker": package.marker,
        "hashes": list(package.hashes),
        "doubt": package.doubt,
        "source": package.source,
        "line": package.line,
    }
    return {key: value for key, value in full.items() if value or key in ("name", "version")}


def from_json(value: Tree) -> Packages:
    """The packages that `to_json` wrote. Raises `KeyError`, `TypeError` or `ValueError` on anything else."""
    form = FORMS[str(value["form"])]
    listed = _sequence(value["packages"])
    conda = _sequence(value.get("conda", []))
    packages = tuple(_package_from(_mapping(item)) for item in listed)
    return Packages(form, packages, tuple(_conda_from(item) for item in conda))


def _conda_from(value: Json) -> CondaPackage:
    name, version, build, channel, digest = map(str, _sequence(value))
    return CondaPackage(name, version, build, channel, digest)


def _package_from(value: Tree) -> Package:
    version, record = value["version"], value.get("record")
    return Package(
        name=str(value["name"]),
        version=None if version is None else str(version),
        record=None if record is None else str(record),
        vcs=str(value.get("vcs", "")),
        archive=str(value.get("archive", "")),
        url=str(value.get("url", "")),
        editable=value.get("editable", False) is True,
        marker=str(value.get("marker", "")),
        hashes=tuple(map(str, _sequence(value.get("hashes", [])))),
        doubt=str(value.get("doubt", "")),
        source=str(value.get("source", "")),
        line=int(str(value.get("line", 0))),
    )


def _sequence(value: Json) -> Sequence[Json]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError("a list was expected")
    return value


def _mapping(value: Json) -> Tree:
    if not isinstance(value, Mapping):
        raise TypeError("a mapping was expected")
    return value
