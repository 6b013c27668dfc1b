"""What an inference engine is to tierlock: its options, launches, imports and observations.

- An engine is a *module* with the names of `Engine`; `registry.py` lists the modules.
- Everything here is a pure value. An engine module reads its shipped option table and nothing else; the
  caller does the HTTP (`read_back` is given a `get`).
- A default that the engine computes (from the GPU, the model, the memory) is `Unknown` with that reason,
  never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from governance.records import dataclass, field
from governance.values import ABSENT, Absent, Effect, Json, Tree, Unknown, Value
from governance.verdict import EffectiveValue, Finding

UNKNOWN_OPTION: Final = "TL290"
FROM_CONFIG: Final = "config"
FROM_GENERATION_CONFIG: Final = "generation_config.json of the model"
FROM_GPU: Final = "depends on the GPU"
REQUEST_DEFAULT: Final = "request default"
FROM_MODEL: Final = "depends on the model"

Get: TypeAlias = Callable[[str], "Json | str | Unknown"]


def from_engine_default(engine: str, version: str) -> str:
    """The provenance of a value nobody set: `engine default (vllm 0.8.2)`."""
    return f"engine default ({engine} {version})"


def from_request_default(engine: str, version: str) -> str:
    """The provenance of a value no launch can set: `request default (llama.cpp b10434)`."""
    return f"{REQUEST_DEFAULT} ({engine} {version})"


def from_unknown(reason: str) -> str:
    """The provenance of a value that cannot be had: `unknown: <why>`."""
    return f"unknown: {reason}"


@dataclass(frozen=True, slots=True)
class Option:
    """One start option of an engine at one version.

    `name` is the engine's own name with underscores (`max_model_len`); `flags` are the spellings its command
    line takes, the long one first; `type` is one of bool (a switch; one that takes `true` or `false` as its
    value has these as choices), int, float, number (int or float), str, json, list;
    `choices` is None when any value of the type is taken; `default` is a JSON value, `ABSENT` when there is
    none (the option is off), or `Unknown` when the engine computes it; `negation` is the flag that sets a
    boolean to false (`--no-enable-prefix-caching`), `negations` are its other spellings (`-nkvo`);
    `repeats` says that a list is given as the flag once per item.
    """

    name: str
    flags: tuple[str, ...]
    env: str | None = None
    type: str = "str"
    choices: tuple[str, ...] | None = None
    default: Value = ABSENT
    negation: str | None = None
    help: str = ""
    negations: tuple[str, ...] = ()
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class OptionTable:
    """Every option of one engine at one version; `version` is the version the table was read from."""

    engine: str
    version: str
    options: Mapping[str, Option]
    source: str


@dataclass(frozen=True, slots=True)
class Launch:
    """How a server is started: the argument list, program first, and the environment variables to add."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Open:
    """One value that shapes the output and that an imported source leaves open.

    `key` names the tier and the key (`base: model.revision`); `suggestion` is what to write there.
    """

    key: str
    reason: str
    effect: Effect = Effect.OUTPUT
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Imported:
    """What a launch says, as tier trees without `kind`, and what it does not say."""

    base: dict[str, Json] = field(default_factory=dict)
    sampling: dict[str, Json] = field(default_factory=dict)
    prompts: dict[str, Json] = field(default_factory=dict)
    left_open: tuple[Open, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Observed:
    """One value a running server reports; `source` is the request and the field it was read from."""

    value: Value
    source: str


class Engine(Protocol):
    """What each engine module provides."""

    NAME: str

    def table(self, version: str) -> OptionTable | Unknown:
        """The option table of `version`: exact, else of the nearest lower known version, else unknown.

        The caller states the distance: compare `OptionTable.version` with `version`.
        """

    def sampling_defaults(
        self, base: Tree, generation_config: Tree | Unknown | Absent
    ) -> Mapping[str, EffectiveValue]:
        """What the server uses for each decoding parameter a request leaves out, by key (`temperature`)."""

    def engine_values(self, base: Tree) -> Mapping[str, EffectiveValue]:
        """Each engine value, declared or default, by its key path (`engine.options.max_model_len`)."""

    def render(self, base: Tree, *, host: str, port: int, weights: str | None = None) -> Launch:
        """The launch `base` asks for; `weights` is a local file or folder that stands in for `model.id`."""

    def parse(self, argv: Sequence[str], environment: Mapping[str, str], *, version: str = "") -> Imported:
        """The tiers a launch describes; `parse(render(base)).base` is `base` for what a launch can say.

        With `version` the options of that version count, where options moved between versions; without it
        those of every version that was read.
        """

    def observable(self, version: str) -> frozenset[str]:
        """The keys `read_back` can see: `sampling.temperature`, `engine.options.max_model_len`."""

    def read_back(self, get: Get) -> Mapping[str, Observed]:
        """What the running server reports, by key; `get(path)` is the answer to a GET, or unknown."""
