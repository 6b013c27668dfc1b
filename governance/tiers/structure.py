"""What lies where in a governed repository: which files are configs, and what is out of place.

- Only regular files are governed content; a link, a nested repository or a device is a finding.
- Two paths that some file system takes for one are a finding, wherever they are noticed.
- Pure: entries in, a `Layout` and findings out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from governance.adapters.files import Entry, Kind
from governance.records import dataclass, field
from governance.tiers.naming import ROOT, SERVICES_FILE, SUFFIX, TIERS, ConfigId, name_fault, twin_key
from governance.verdict import Finding

_WRONG_KIND: Final = {
    Kind.SYMLINK: ("TL051", "a symbolic link; what it points to can change unseen", "commit the file itself"),
    Kind.SUBMODULE: ("TL052", "a nested repository; its files are not here", "commit the files themselves"),
    Kind.OTHER: ("TL054", "not a regular file", "replace it by a regular file"),
}


@dataclass(slots=True)
class Layout:
    """The entries of a repository by what they are.

    `folders` has the files below the folder of each config, by the name the config calls them; `twins` has
    pairs of paths that some systems take for one.
    """

    configs: dict[ConfigId, Entry] = field(default_factory=dict)
    folders: dict[ConfigId, dict[str, Entry]] = field(default_factory=dict)
    services_file: Entry | None = None
    twins: list[tuple[str, str]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def layout(entries: Iterable[Entry]) -> Layout:
    """The layout of `entries`: those at and below `configs`, and `tierlock.yaml`."""
    found = Layout()
    seen: dict[str, str] = {}
    for entry in entries:
        path = entry.path
        if path != SERVICES_FILE and not _is_in_tier(path):
            if path == ROOT and entry.kind is not Kind.FILE:
                found.findings.append(_wrong_kind(entry))
            elif path.startswith(f"{SERVICES_FILE}/"):
                folder = _wrong_kind(Entry(SERVICES_FILE, Kind.OTHER))
                found.findings += [folder] if folder not in found.findings else []
            continue
        twin = seen.setdefault(twin_key(path), path)
        if twin != path:
            found.twins.append((twin, path))
        if entry.kind is not Kind.FILE:
            found.findings.append(_wrong_kind(entry))
        elif not path.isascii() and not _is_text(path):
            found.findings.append(_not_utf8(path))
        elif path == SERVICES_FILE:
            found.services_file = entry
        else:
            _place(entry, found)
    _find_homeless(found)
    return found


def _place(entry: Entry, found: Layout) -> None:
    _, tier, rest = entry.path.split("/", 2)
    name, slash, inner = rest.partition("/")
    if slash:
        found.folders.setdefault(ConfigId(tier, name), {})[inner] = entry
    elif name == ".gitkeep":
        return
    elif not name.endswith(SUFFIX):
        found.findings.append(_unclassified(entry.path, tier, name))
    elif why := name_fault(name.removesuffix(SUFFIX)):
        message = f"`{name}` is no name for a config: {why}"
        found.findings.append(Finding("TL056", message, path=entry.path, hint="rename the file"))
    else:
        found.configs[ConfigId(tier, name.removesuffix(SUFFIX))] = entry


def _find_homeless(found: Layout) -> None:
    for config_id in [each for each in found.folders if each not in found.configs]:
        for name, entry in found.folders.pop(config_id).items():
            message = f"`{name}` lies in the folder of {config_id}, and there is no such config"
            hint = f"add {config_id.path}, or delete the file"
            found.findings.append(Finding("TL050", message, path=entry.path, hint=hint))


def _unclassified(path: str, tier: str, name: str) -> Finding:
    hint = f"move it out of {ROOT}/{tier}/, or into the folder of a config that names it"
    if name.lower().endswith((".yml", ".yaml", ".json")):
        hint = f"a config ends with {SUFFIX}: rename it to {name.rpartition('.')[0]}{SUFFIX}"
    return Finding("TL050", f"`{name}` belongs to no config", path=path, hint=hint)


def _wrong_kind(entry: Entry) -> Finding:
    code, what, hint = _WRONG_KIND[entry.kind]
    return Finding(code, f"`{shown(entry.path)}` is {what}", path=shown(entry.path), hint=hint)


def twin_finding(path: str, other: str) -> Finding:
    """`path` and `other` are one file on some systems."""
    message = f"`{path}` and `{other}` are one file on systems that ignore case or how accents are stored"
    return Finding("TL055", message, path=path, hint="rename one of them")


def _not_utf8(path: str) -> Finding:
    message = f"the name `{shown(path)}` is not valid UTF-8"
    return Finding("TL063", message, path=shown(path), hint="rename the file")


def _is_in_tier(path: str) -> bool:
    top, _, rest = path.partition("/")
    return top == ROOT and rest.partition("/")[0] in TIERS


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(path: str) -> str:
    """`path` as it can be printed: bytes that are no UTF-8 as `\\xff`."""
    return (
        path
        if _is_text(path)
        else path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    )
