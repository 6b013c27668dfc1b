"""The generated files of this package, as the bytes they must have.

- `scripts/generate_schemas.py` writes them, a test compares them; nothing at run time comes here.
"""

from __future__ import annotations

import json

from governance.tiers.schemas.build import MODELS, compiled, fields
from governance.tiers.schemas.editors import json_schema


def generated() -> dict[str, bytes]:
    """Every generated file by its name below this package."""
    files = {"compiled.json": _compact(compiled()), "fields.json": _rows()}
    for kind in MODELS:
        text = json.dumps(json_schema(kind), indent=1, ensure_ascii=False)
        files[f"json/{kind}.schema.json"] = text.encode() + b"\n"
    return files


def _rows() -> bytes:
    """The field tables, one field a line: a change of one field is a change of one line."""
    parts = []
    for kind in MODELS:
        rows = [
            f"{json.dumps(key)}:{_compact(entry).decode().strip()}" for key, entry in fields(kind).items()
        ]
        parts.append(f"{json.dumps(kind)}:{{\n" + ",\n".join(rows) + "\n}")
    return ("{" + ",\n".join(parts) + "}\n").encode()


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
