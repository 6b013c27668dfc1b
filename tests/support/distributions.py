"""Installed distributions as folders on disk, made by tests: what pip and uv leave behind, small."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path


def install(
    site: Path,
    name: str,
    version: str,
    *,
    record: str | None = "",
    direct_url: Mapping[str, object] | None = None,
    folder: str | None = None,
) -> Path:
    """Write a `dist-info` folder; an empty `record` becomes a plausible RECORD, None leaves it out."""
    info = site / (folder or f"{name.replace('-', '_')}-{version}.dist-info")
    info.mkdir(parents=True)
    headers = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_text(f"{headers}\nName: not this\n")
    if record is not None:
        text = record or f"{name}/__init__.py,sha256=AAAA{version},10\n{info.name}/METADATA,sha256=BB,20\n"
        (info / "RECORD").write_text(text)
    if direct_url is not None:
        (info / "direct_url.json").write_text(json.dumps(direct_url))
    return info


def record_lines(
    *, scripts: str = "../../../bin/tool,sha256=SHEBANG1,200", extra: tuple[str, ...] = ()
) -> list[str]:
    """The lines of a plausible RECORD, as pip writes it."""
    return [
        scripts,
        "tool-1.0.dist-info/INSTALLER,sha256=zuuue4knoyJ-UwPPXg8fezS7VCrXJQrAP7zeNuwvFQg,4",
        "tool-1.0.dist-info/METADATA,sha256=META,900",
        "tool-1.0.dist-info/RECORD,,",
        "tool-1.0.dist-info/REQUESTED,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0",
        "tool-1.0.dist-info/WHEEL,sha256=WHEEL,90",
        "tool-1.0.dist-info/direct_url.json,sha256=URL,60",
        "tool/__init__.py,sha256=INIT,10",
        "tool/__pycache__/__init__.cpython-311.pyc,,",
        *extra,
    ]
