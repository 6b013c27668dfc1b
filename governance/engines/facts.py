"""What the engines know, in the form the rules ask for: `tiers` may not import engines, so this is handed in.

- Option tables and sampling defaults are those of the engine modules; nothing is added.
- What an engine module cannot say is `Unknown` with its reason, never an empty table.
"""

from __future__ import annotations

from collections.abc import Mapping

from governance.engines.model import OptionTable
from governance.errors import TierlockError
from governance.values import Absent, Tree, Unknown
from governance.verdict import EffectiveValue


class Facts:
    """Answers for the rules; remembers option tables, which thousands of configs share."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, str], OptionTable | Unknown] = {}

    def table(self, engine: str, version: str) -> OptionTable | Unknown:
        """The options of `engine` at `version` or the nearest lower known version, else unknown."""
        key = (engine, version)
        found = self._tables.get(key)
        if found is None:
            found = self._tables[key] = self._load(engine, version)
        return found

    def sampling_defaults(
        self, base: Tree, generation_config: Tree | Unknown | Absent
    ) -> Mapping[str, EffectiveValue] | Unknown:
        """What the engine of `base` uses for each decoding parameter it knows, by sampling key."""
        from governance.engines.resolve import engine_of

        try:
            return engine_of(base).sampling_defaults(base, generation_config)
        except TierlockError as error:
            return Unknown(error.message)

    def _load(self, engine: str, version: str) -> OptionTable | Unknown:
        from governance.engines.registry import load

        try:
            return load(engine).table(version)
        except TierlockError as error:
            return Unknown(error.message)
