"""What an engine sees of a model's generation_config.json, which it reads through transformers.

- transformers 4 fills what the file leaves out with its own defaults (`top_k` 50, `temperature` 1.0, ...);
  transformers 5 leaves it out. Source: `GenerationConfig.__init__` of both, in `defaults/transformers.json`.
- vLLM asks for what *differs* from those defaults (`to_diff_dict`): under transformers 4 a file with
  `top_k: 50` looks as if it set nothing. SGLang asks for everything (`to_dict`): under transformers 4 a file
  without `top_k` looks as if it set 50.
- Which transformers runs is decided by what the engine's package asks for; where that allows both, a value
  that depends on it is unknown, with this reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from governance.engines import tables
from governance.values import ABSENT, Json, Tree, Unknown, Value

_LAST_FOUR: Final = "4.57.6"
_BOTH: Final = "transformers 4 and 5 read the file differently here, and the engine allows both"


def major(requirement: Json | Unknown) -> int | None:
    """4 or 5, the major version of transformers that `requirement` (`>=4.56.0,<5`) allows; None for both."""
    text = requirement if isinstance(requirement, str) else ""
    if re.search(r"(==|>=|~=)[5-9]\.", text):
        return 5
    if re.search(r"<=?5(\.0)*(,|$)", text) or re.search(r"==4\.", text):
        return 4
    return None


def differing(file: Tree, key: str, requirement: Json | Unknown) -> Value:
    """What `to_diff_dict` shows of `key`: `ABSENT` when it shows nothing."""
    value = file.get(key)
    if value is None:
        return ABSENT
    if value != _default(key):
        return value
    running = major(requirement)
    if running == 5:
        return value
    return ABSENT if running == 4 else Unknown(f"`{key}` is {value!r} in the file: {_BOTH}")


def filled(file: Tree, key: str, requirement: Json | Unknown) -> Value:
    """What `to_dict` shows of `key`: the file's value, or the default transformers 4 fills in."""
    value = file.get(key)
    if value is not None:
        return value
    default = _default(key)
    if default is None:
        return ABSENT
    running = major(requirement)
    if running == 5:
        return ABSENT
    return default if running == 4 else Unknown(f"`{key}` is not in the file: {_BOTH}")


def stop_ids(file: Tree) -> list[Json]:
    """The end-of-text tokens of the file: one id and a list of one are the same, and order means nothing."""
    value = file.get("eos_token_id")
    items = list(value) if isinstance(value, list | tuple) else [value]
    return sorted({item for item in items if isinstance(item, int) and not isinstance(item, bool)})  # type: ignore[return-value]


def _default(key: str) -> Json:
    found = tables.defaults("transformers", _LAST_FOUR, "sampling")
    value = found.get(key) if isinstance(found, Mapping) else None
    return value if isinstance(value, bool | int | float | str) else None
