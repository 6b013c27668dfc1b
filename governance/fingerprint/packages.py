"""The packages layer: what the distributions of one interpreter, or a list of them, say they are.

- A package is known by normal name, full version with local label, RECORD digest, VCS commit or archive
  digest.
- The RECORD digest covers the lines that came with the wheel: sorted, without those an installer adds and
  without console scripts, so pip and uv, and two hosts, agree; two wheels of one version differ.
- A build path is no pin: `numpy @ file:///build/work` has no version, and the layer is unknown. An editable
  install is not pinned either. One package twice in one place is an error that names both.
- A server that is no Python program is its executable and the libraries it loaded, each by its bytes.
- Lists (`pip freeze`, lock files) know less than an environment; `form` says which, and is part of the
  digest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from governance.fingerprint.versions import normal_name, normal_version
from governance.fingerprint.wheel_record import record_digest
from governance.values import Json, Tree, Unknown

if TYPE_CHECKING:
    from governance.adapters.packages import Distribution
    from governance.verdict import Finding

Form: TypeAlias = Literal["environment", "freeze", "lock", "program"]
FORMS: Final[dict[str, Form]] = {
    "environment": "environment",
    "freeze": "freeze",
    "lock": "lock",
    "program": "program",
}

TWICE: Final = "is here twice: "
"""How the doubt about a package begins that is there twice."""


class Package(NamedTuple):
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

    @property
    def place(self) -> str:
        """Version and where it was read, for a message."""
        version = self.version or "version unknown"
        return f"{version} ({self.source}:{self.line})" if self.line else f"{version} ({self.source})"


class CondaPackage(NamedTuple):
    """One record of `conda-meta`, Python or not: its build text tells the CUDA it was built for."""

    name: str
    version: str
    build: str
    channel: str
    digest: str


class Packages(NamedTuple):
    """All packages of one place, sorted by name."""

    form: Form
    packages: tuple[Package, ...]
    conda: tuple[CondaPackage, ...] = ()

    def get(self, name: str) -> Package | None:
        """The package of this name in any spelling."""
        wanted = normal_name(name)
        return next((p for p in self.packages if p.name == wanted), None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What there is to say: twice, version unknown, not pinned, contents not told apart."""
        return _findings(self)


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
    for item in found:
        package = _package(item, prefix)
        if package is None:
            continue
        first = chosen.get(package.name)
        if first is None:
            chosen[package.name] = package
            sites[package.name] = item.site
        elif sites[package.name] == item.site and not first.doubt.startswith(TWICE):
            chosen[package.name] = _both(first, package)
    packages = tuple(chosen[name] for name in sorted(chosen))
    return Packages("environment", packages, tuple(_conda(conda)))


def from_program(files: Mapping[str, str]) -> Packages:
    """A server that is no Python program: path of the program and of each shared library, to its digest.

    They are named without their folder, so that two hosts agree; two of one name keep the folder they are in.
    """
    bases = Counter(path.rpartition("/")[2] for path in files)
    found = []
    for path, digest in files.items():
        base = path.rpartition("/")[2]
        name = base if bases[base] == 1 else "/".join(path.rsplit("/", 2)[1:])
        found.append(Package(name, "", archive=digest, source=path))
    return Packages("program", tuple(sorted(found)))


def _both(first: Package, second: Package) -> Package:
    """One package from two metadata folders in one place: one install told twice, or a contradiction."""
    if not _same_thing(first, second):
        return first._replace(version=None, doubt=f"{TWICE}{first.place} and {second.place}")
    return first if first.record is not None else second._replace(editable=first.editable or second.editable)


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
    record = None if item.record is None else record_digest(item.record)
    package = Package(normal_name(name), version, record, source=f"{place}/{item.folder}")
    if item.direct_url is not None:
        package = _with_direct_url(package, item.direct_url)
    if kind == "egg-link":
        package = package._replace(editable=True)
    if package.editable:
        return package._replace(doubt="installed from a working folder (editable)")
    if package.version is None and not package.doubt:
        return package._replace(doubt="its metadata names no version")
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


def _with_direct_url(package: Package, data: bytes) -> Package:
    import json

    try:
        value = json.loads(data)
        url = str(value["url"])
    except (ValueError, KeyError, TypeError):
        return package._replace(version=None, doubt="its direct_url.json cannot be read")
    vcs, archive, folder = (value.get(k) or {} for k in ("vcs_info", "archive_info", "dir_info"))
    if vcs.get("commit_id"):
        return package._replace(vcs=f"{vcs.get('vcs', 'git')}+{vcs['commit_id']}", url=public_url(url))
    if folder.get("editable"):
        return package._replace(editable=True)
    digest = (archive.get("hashes") or {}).get("sha256") or str(archive.get("hash", "")).removeprefix(
        "sha256="
    )
    if digest:
        return package._replace(archive=f"sha256:{digest}", url=public_url(url))
    return package._replace(url=public_url(url))


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


def _findings(found: Packages) -> tuple[Finding, ...]:
    doubtful = [p for p in found.packages if p.doubt]
    bare = [p for p in found.packages if found.form == "environment" and p.record is None and not p.doubt]
    if not (doubtful or bare):
        return ()
    from governance.fingerprint.notices import notice

    result = []
    for package in doubtful:
        code, text = "TL952" if package.editable else "TL951", f"`{package.name}`: {package.doubt}"
        if package.doubt.startswith(TWICE):
            code, text = "TL950", f"`{package.name}` {package.doubt}"
        path = package.source if package.line else ""
        result.append(notice(code, text, path=path, line=package.line, key=package.name))
    if bare:
        names = ", ".join(p.name for p in bare[:5]) + (f" and {len(bare) - 5} more" if len(bare) > 5 else "")
        result.append(notice("TL982", f"{len(bare)} packages have no RECORD: {names}"))
    return tuple(result)


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


def layer_digest(packages: Packages) -> str | Unknown:
    """The SHA-256 of the canonical form of `layer_value`, or the same `Unknown`.

    The value holds text only, for which `json` writes RFC 8785 bytes (a law in the tests). The canonical
    writer's own library costs as much to import as 250 RECORD files cost to read (bench/packages.py).
    """
    import json

    value = layer_value(packages)
    if isinstance(value, Unknown):
        return value
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


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
