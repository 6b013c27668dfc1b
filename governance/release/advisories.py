"""Advisories a team keeps on engines, packages and models, and which of them touch a release.

- One JSON file in the repository (`release.advisories`): a list of {id, package, affected, severity}, with
  `summary` and `url` where somebody wrote them.
- `package` is an engine, a distribution or a model (`owner/name`). `affected` is a PEP 440 specifier
  (`<0.6.3`), for a model commits by their first digits, or `*` for all.
- Builds of llama.cpp (`b10434`) are ordered by their number, in versions and in specifiers.
- No file is "not checked"; a file that cannot be read is undecided. Neither is "no known issue".
- A version that cannot be placed is a doubt about that advisory, never a pass.
- Pure: bytes in, values out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from governance.errors import Unreadable
from governance.fingerprint.versions import normal_name
from governance.review import strict
from governance.values import Json, Unknown
from governance.verdict import Check, Outcome

ALL: Final = "*"
NAME: Final = "advisories"
_BUILD: Final = re.compile(r"(?<![\w.])[bBvV](?=\d)")
_COMMIT: Final = re.compile(r"[0-9a-f]{7,40}")
_WANTED: Final = ("id", "package", "affected", "severity")


@dataclass(frozen=True, slots=True)
class Advisory:
    """One advisory as the file has it."""

    id: str
    package: str
    affected: str
    severity: str
    summary: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Installed:
    """One thing a release runs: `what` is `engine`, `package` or `model`; `version` None when not known."""

    what: str
    name: str
    version: str | None


def read_advisories(data: bytes, path: str) -> tuple[Advisory, ...]:
    """The advisories in a file, in its order. Raises `Unreadable` naming the entry at fault."""
    try:
        entries = strict.list_of(strict.json_of(data), "the file")
        return tuple(_advisory(one, number) for number, one in enumerate(entries, 1))
    except (ValueError, KeyError, TypeError) as err:
        raise Unreadable(
            f"`{path}` is no list of advisories: {err}",
            where=path,
            hint='[{"id": "…", "package": "vllm", "affected": "<0.6.3", "severity": "critical"}]',
        ) from err


def check_advisories(found: Sequence[Advisory] | Unknown | None, installed: Iterable[Installed]) -> Check:
    """The check `advisories`. `found` is None when no file is named, `Unknown` when it cannot be read."""
    if found is None:
        told = "not checked: no advisory file is named (release.advisories in tierlock.yaml)"
        return Check(NAME, Outcome.PASS, told)
    if isinstance(found, Unknown):
        return Check(NAME, Outcome.UNDECIDED, found.reason)
    touched: list[str] = []
    doubts: list[str] = []
    looked = list(installed)
    for one in found:
        for thing in looked:
            if not _same_name(one, thing):
                continue
            state = _affects(one, thing)
            if isinstance(state, Unknown):
                doubts.append(f"{one.id}: {state.reason}")
            elif state:
                touched.append(_told(one, thing))
    if touched:
        return Check(NAME, Outcome.BLOCK, "; ".join(dict.fromkeys(touched)))
    if doubts:
        return Check(NAME, Outcome.UNDECIDED, "; ".join(dict.fromkeys(doubts)))
    return Check(
        NAME, Outcome.PASS, f"none of {len(found)} touches the engine, the model or {_count(looked)}"
    )


def _count(looked: Sequence[Installed]) -> str:
    packages = sum(one.what == "package" for one in looked)
    return f"{packages} packages" if packages else "a package (none are known)"


def _told(one: Advisory, thing: Installed) -> str:
    more = f": {one.summary}" if one.summary else ""
    version = f" {thing.version}" if thing.version else ""
    return f"{one.id} ({one.severity}) {thing.what} {thing.name}{version}, affected {one.affected}{more}"


def _same_name(one: Advisory, thing: Installed) -> bool:
    if "/" in one.package or thing.what == "model":
        return one.package.lower() == thing.name.lower()
    return normal_name(one.package) == normal_name(thing.name)


def _affects(one: Advisory, thing: Installed) -> bool | Unknown:
    if one.affected == ALL:
        return True
    if thing.version is None:
        return Unknown(f"the version of {thing.what} {thing.name} is not known")
    if thing.what == "model":
        commits = [part.strip() for part in one.affected.split(",")]
        if not all(_COMMIT.fullmatch(commit) for commit in commits):
            return Unknown(f"`{one.affected}` names no commits of {thing.name}")
        return any(thing.version.startswith(commit) for commit in commits)
    return in_range(thing.version, one.affected)


def in_range(version: str, specifier: str) -> bool | Unknown:
    """Whether `version` lies in a PEP 440 specifier; builds (`b10434`, `v0.8`) count by their numbers."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        wanted = SpecifierSet(_BUILD.sub("", specifier), prereleases=True)
        return wanted.contains(Version(_BUILD.sub("", version)))
    except (InvalidSpecifier, InvalidVersion) as err:
        return Unknown(str(err)[:1].lower() + str(err)[1:])


def _advisory(value: Json, number: int) -> Advisory:
    tree: Mapping[str, Json] = strict.object_of(value, f"entry {number}")
    for key in _WANTED:
        if key not in tree:
            raise ValueError(f"entry {number} has no `{key}`")
    texts = {key: strict.text_of(tree[key], f"{key} of entry {number}").strip() for key in _WANTED}
    for key in ("id", "package", "affected"):
        if not texts[key]:
            raise ValueError(f"`{key}` of entry {number} is empty; `*` is every version")
    more = {key: str(tree.get(key) or "") for key in ("summary", "url")}
    return Advisory(**texts, **more)
