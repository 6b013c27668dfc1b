"""Which path is which config: the layout of a governed repository, and the names it accepts.

- `configs/<tier>/<name>.yaml` is a config; `configs/<tier>/<name>/…` are the files it names.
- `evals/<name>.jsonl` is a suite, which services name.
- A name has letters and digits of any script, `_`, and inside also `.` and `-`, in composed form (NFC).
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from governance.errors import Usage
from governance.records import dataclass

if TYPE_CHECKING:
    from governance.values import KeyPath, Tree

TIERS: Final = ("base", "sampling", "prompts")
SERVICES_FILE: Final = "tierlock.yaml"
ROOT: Final = "configs"
GOVERNED: Final = ("configs/base/", "configs/sampling/", "configs/prompts/", SERVICES_FILE)
SUFFIX: Final = ".yaml"
SUITES: Final = "evals/"
MAX_NAME: Final = 100
# Windows gives these names to devices, with any suffix; a repository is cloned there too.
_DEVICES: Final = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))]
)


@dataclass(frozen=True, slots=True, order=True)
class ConfigId:
    """One config: its tier and name. `str` gives `sampling/factual`."""

    tier: str
    name: str

    def __str__(self) -> str:
        return f"{self.tier}/{self.name}"

    @property
    def path(self) -> str:
        """Where the config lies: `configs/sampling/factual.yaml`."""
        return f"{ROOT}/{self.tier}/{self.name}{SUFFIX}"

    @property
    def folder(self) -> str:
        """Where the files it names lie: `configs/sampling/factual/`."""
        return f"{ROOT}/{self.tier}/{self.name}/"

    @classmethod
    def parse(cls, text: str) -> ConfigId:
        """The id that `sampling/factual`, or the path of such a config, names. Raises `Usage`."""
        inner = text.removeprefix(f"{ROOT}/")
        if inner != text:
            inner = inner.removesuffix(SUFFIX)
        tier, _, name = inner.partition("/")
        if tier not in TIERS or (why := name_fault(name)):
            reason = why if tier in TIERS else "it begins with none of base/, sampling/, prompts/"
            raise Usage(f"`{text}` names no config: {reason}", hint="write it as sampling/factual")
        return cls(tier, name)


def suite_path(name: str) -> str:
    """Where the suite called `name` lies: `evals/smoke.jsonl`."""
    return f"{SUITES}{name}.jsonl"


def suites_of(tree: Tree) -> tuple[tuple[KeyPath, str], ...]:
    """The suites that a service's entry in tierlock.yaml names, each with its key below the entry."""
    evals = tree.get("evals")
    if not isinstance(evals, dict):
        return ()
    found: list[tuple[KeyPath, str]] = [
        (("evals", key), evals[key]) for key in ("smoke", "full") if key in evals
    ]
    found += [(("evals", "suites", index), name) for index, name in enumerate(evals.get("suites", ()))]
    return tuple(found)


def config_of(path: str) -> ConfigId | None:
    """The config that `path` belongs to by its place, whether or not that config is there."""
    top, _, rest = path.partition("/")
    tier, _, inner = rest.partition("/")
    if top != ROOT or tier not in TIERS or not inner:
        return None
    name, slash, _ = inner.partition("/")
    if slash:
        return ConfigId(tier, name)
    return ConfigId(tier, name.removesuffix(SUFFIX)) if name.endswith(SUFFIX) else None


def is_governed(path: str) -> bool:
    """Whether `path` is one that tierlock judges."""
    return path == SERVICES_FILE or path.startswith(GOVERNED[:3])


def name_fault(name: str) -> str | None:
    """Why `name` is no name for a config, or None when it is one."""
    if name.isascii() and name.replace("_", "a").replace("-", "a").replace(".", "a").isalnum():
        fault = None
    elif not name:
        return "it is empty"
    elif unicodedata.normalize("NFC", name) != name:
        return "an accent is stored apart from its letter; save the name in composed form (NFC)"
    else:
        odd = next((char for char in name if not (char.isalnum() or char in "_.-")), "")
        fault = f"it contains {_called(odd)}" if odd else None
    if fault is None and name[0] in ".-":
        fault = f"it begins with `{name[0]}`"
    if fault is None and name[-1] == ".":
        fault = "it ends with `.`"
    if fault is None and len(name) > MAX_NAME:
        fault = f"it has {len(name)} characters, at most {MAX_NAME} are allowed"
    if fault is None and name.partition(".")[0].lower() in _DEVICES:
        fault = f"Windows keeps `{name.partition('.')[0]}` for a device"
    return fault


def twin_key(path: str) -> str:
    """What two paths share when some file system takes them for one."""
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).casefold()


def _called(char: str) -> str:
    if char == " ":
        return "a space"
    return f"`{char}`" if char.isprintable() else f"U+{ord(char):04X}"
