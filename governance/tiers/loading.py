"""From a file source to configs, services and findings: reads each governed file once.

- Reads, validates and follows references; judges nothing across fields. Rules do that.
- Every file under a governed folder is accounted for: a config, a file some config names, or a finding.
- A config that is refused has no tree, so what it names is not known: its folder is then not judged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from governance.adapters.files import FileSource
from governance.errors import Unreadable
from governance.tiers.config import Config, Repository, Service
from governance.tiers.naming import ROOT, SERVICES_FILE, TIERS, ConfigId, config_of, suite_path, suites_of
from governance.tiers.reader import Reading, finding_at, read_json, read_jsonl, read_yaml
from governance.tiers.references import LIMITS, may_have_references, name_fault, references
from governance.tiers.structure import Layout, layout, shown, twin_finding
from governance.tiers.validate import validate
from governance.values import KeyPath
from governance.verdict import Finding, Severity, sort_findings

if TYPE_CHECKING:
    from governance.adapters.files import Entry
    from governance.values import Tree

_LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"
_LFS_MAX: Final = 1024


def load(source: FileSource, only: Collection[str] | None) -> Repository:
    """What `config.load_repository` promises."""
    paths = None if only is None else frozenset(only)
    found = layout([*source.entries(ROOT), *source.entries(SERVICES_FILE)])
    loader = _Loader(source, found)
    reading, settings = loader.services_file()
    bindings: Mapping[str, Tree] = settings.get("services", {})  # type: ignore[assignment]
    if paths is None:
        chosen, names = list(found.configs), list(bindings)
    else:
        chosen, names = _chosen(paths, found, bindings)
    loader.prefetch(chosen)
    configs = {each: config for each in chosen if (config := loader.config(each)) is not None}
    services = {name: _service(name, bindings[name], configs) for name in names}
    if reading is not None:
        loader.findings += _unbound(reading, bindings, found, names if paths is not None else None)
    elif found.configs and paths is None and found.services_file is None:
        loader.findings.append(_no_services_file())
    findings = [*_structure(found, paths), *loader.findings]
    return Repository(configs, services, reading, settings, sort_findings(findings))


def load_one(source: FileSource, config_id: ConfigId) -> tuple[Config | None, tuple[Finding, ...]]:
    """What `config.load_config` promises."""
    found = layout([*source.entries(config_id.path), *source.entries(config_id.folder)])
    loader = _Loader(source, found)
    if config_id in found.configs:
        config = loader.config(config_id)
    else:
        config = None
        if not found.findings:
            message = f"there is no config {config_id} in the {source.label}"
            loader.findings.append(
                Finding("TL060", message, path=config_id.path, hint="add it, or correct the name")
            )
    return config, sort_findings([*found.findings, *loader.findings])


class _Loader:
    """Reads configs of one layout and collects what is wrong."""

    def __init__(self, source: FileSource, found: Layout) -> None:
        self._source = source
        self._found = found
        self.findings: list[Finding] = []

    def prefetch(self, configs: Iterable[ConfigId]) -> None:
        """Ask a source that reads in batches for everything at once."""
        ask = getattr(self._source, "prefetch", None)
        if ask is not None:
            ask([
                entry.path for each in configs
                for entry in (self._found.configs[each], *self._found.folders.get(each, {}).values())
            ])  # fmt: skip

    def services_file(self) -> tuple[Reading | None, Tree]:
        """tierlock.yaml and its clean tree; an empty one when there is none."""
        entry = self._found.services_file
        data = None if entry is None else self._read(entry.path)
        if data is None:
            return None, {}
        reading = read_yaml(data, SERVICES_FILE)
        tree, findings = validate("services", reading)
        self.findings += (*reading.findings, *findings)
        return reading, tree or {}

    def config(self, config_id: ConfigId) -> Config | None:
        """The config, or None when it is refused."""
        path = self._found.configs[config_id].path
        data = self._read(path)
        if data is None:
            return None
        reading = read_yaml(data, path)
        tree, findings = validate(config_id.tier, reading)
        if reading.findings or findings:
            self.findings += (*reading.findings, *findings)
        if tree is None:
            return None
        folder = self._found.folders.get(config_id)
        if folder or may_have_references(reading.text):
            files = self._files(config_id, reading, tree, folder or {})
        else:
            files = {}
        return Config(config_id, path, tree, reading, files)

    def _files(
        self, config_id: ConfigId, reading: Reading, tree: Tree, folder: Mapping[str, Entry]
    ) -> dict[str, bytes]:
        """What the config names, by path below its tier; a finding for every file that it does not name."""
        files: dict[str, bytes] = {}
        used: set[str] = set()
        for key, name, content in references(config_id.tier, tree):
            used.add(name)
            if (data := self._file(reading, key, name, content, folder, config_id)) is not None:
                files[f"{config_id.name}/{name}"] = data
        for name in folder.keys() - used:
            message = f"`{name}` lies in the folder of {config_id}, which does not name it"
            hint = f"name it in {config_id.path}, or delete it"
            self.findings.append(Finding("TL059", message, path=folder[name].path, hint=hint))
        return files

    def _file(
        self,
        reading: Reading,
        key: KeyPath,
        name: str,
        content: str,
        folder: Mapping[str, Entry],
        config_id: ConfigId,
    ) -> bytes | None:
        """The bytes of one reference, or None and a finding."""
        if why := name_fault(name):
            hint = f"put the file into {config_id.folder} and name it from there"
            message = f"`{name}` is outside the config's own folder: {why}"
            self.findings.append(finding_at(reading, "TL058", message, key, hint=hint))
            return None
        entry = folder.get(name)
        if entry is None:
            where = f"{config_id.folder}{name}"
            message = f"`{name}` is not there"
            self.findings.append(
                finding_at(reading, "TL057", message, key, hint=f"add {where}, or correct the name")
            )
            return None
        data = self._read(entry.path)
        if data is None:
            return None
        limit = LIMITS[content]
        if len(data) > limit:
            message = f"the file has {len(data)} bytes, at most {limit} are allowed"
            self.findings.append(Finding("TL061", message, path=entry.path, hint="shorten it"))
            return None
        self.findings += _content_findings(data, entry.path, content)
        return data

    def _read(self, path: str) -> bytes | None:
        try:
            data = self._source.read(path)
        except Unreadable as err:
            self.findings.append(Finding("TL062", err.message, path=path, hint=err.hint))
            return None
        if len(data) < _LFS_MAX and data.startswith(_LFS_POINTER):
            message = "the file is a Git LFS pointer, not its content"
            hint = f"git lfs untrack {path}, then commit the file itself"
            self.findings.append(Finding("TL053", message, path=path, hint=hint))
            return None
        return data


def _content_findings(data: bytes, path: str, content: str) -> list[Finding]:
    if content == "json":
        return list(read_json(data, path).findings)
    if content == "jsonl":
        lines = read_jsonl(data, path)
        return [each for line in lines for each in (*line.findings, *validate("few_shot", line)[1])]
    try:
        data.decode()
    except UnicodeDecodeError as err:
        message = f"the file is not UTF-8 text: byte {err.start} is 0x{data[err.start]:02x}"
        return [Finding("TL064", message, path=path, hint="save it as UTF-8 without a byte order mark")]
    return []


def _chosen(
    only: Collection[str], found: Layout, bindings: Mapping[str, Tree]
) -> tuple[list[ConfigId], list[str]]:
    """The configs and services that the paths `only` concern."""
    touched = {config_id for path in only if (config_id := config_of(path)) is not None}
    whole = SERVICES_FILE in only
    names = [
        name
        for name, tree in bindings.items()
        if whole
        or not touched.isdisjoint(_bound(tree))
        or any(suite_path(s) in only for _, s in suites_of(tree))
    ]
    wanted = touched.union(*(_bound(bindings[name]) for name in names))
    return [each for each in found.configs if each in wanted], names


def _bound(tree: Tree) -> list[ConfigId]:
    return [ConfigId(tier, str(tree[tier])) for tier in TIERS]


def _service(name: str, tree: Tree, configs: Mapping[ConfigId, Config]) -> Service:
    base, sampling, prompts = (configs.get(each) for each in _bound(tree))
    return Service(name, base, sampling, prompts, tree)


def _unbound(
    reading: Reading, bindings: Mapping[str, Tree], found: Layout, names: Collection[str] | None
) -> Iterable[Finding]:
    """Bindings of configs that are not there."""
    for name, tree in bindings.items():
        if names is not None and name not in names:
            continue
        for config_id in _bound(tree):
            if config_id in found.configs:
                continue
            from governance.tiers.hints import nearest

            near = nearest(
                config_id.name, (each.name for each in found.configs if each.tier == config_id.tier)
            )
            hint = f"did you mean `{near}`?" if near else f"add {config_id.path}"
            message = f"service `{name}` names {config_id}, which is not there"
            yield finding_at(reading, "TL060", message, ("services", name, config_id.tier), hint=hint)


def _structure(found: Layout, only: frozenset[str] | None) -> Iterable[Finding]:
    """The structure findings; with `only`, those about these paths and the configs they belong to."""
    if only is None:
        return [*found.findings, *(twin_finding(path, other) for other, path in found.twins)]
    touched = {config_of(path) for path in only} - {None}
    names = {shown(path) for path in only}
    own = [each for each in found.findings if each.path in names or config_of(each.path) in touched]
    twins = [pair if pair[0] in only else pair[::-1] for pair in found.twins if not only.isdisjoint(pair)]
    return [*own, *(twin_finding(path, other) for path, other in twins)]


def _no_services_file() -> Finding:
    message = f"there is no `{SERVICES_FILE}`: nothing says which service uses these configs"
    return Finding("TL065", message, Severity.WARNING, SERVICES_FILE, hint="tierlock init")
