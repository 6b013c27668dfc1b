"""Extracts the option tables of engines that no package index has, from a git checkout of their source.

    git clone --bare REPOSITORY FOLDER
    python scripts/extract_source_options.py tgi FOLDER
    python scripts/extract_source_options.py ollama FOLDER --add 0.33.0
    python scripts/extract_source_options.py tgi FOLDER --check    write nothing, exit 1 on a difference

The result is `governance/engines/defaults/<engine>.json`, with the files read of each version and their
digest.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from extractors import ollama, ranges, tgi
from extractors.checkout import Checkout

DEFAULTS = Path(__file__).resolve().parent.parent / "governance" / "engines" / "defaults"
ENGINES: dict[str, ModuleType] = {"tgi": tgi, "ollama": ollama}
VERSIONS: dict[str, tuple[str, ...]] = {
    "tgi": ("1.4.5", "2.0.4", "2.2.0", "2.4.1", "3.0.1", "3.1.1", "3.2.3", "3.3.0", "3.3.4", "3.3.7"),
    "ollama": (
        *("0.1.48", "0.3.14", "0.4.7", "0.5.13", "0.6.8", "0.9.6", "0.11.11", "0.12.11", "0.15.6"),
        *("0.20.7", "0.24.0", "0.30.11", "0.32.15"),
    ),
}


def order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def document(engine: str, folder: Path, versions: tuple[str, ...]) -> dict[str, Any]:
    """The whole file of one engine."""
    extractor = ENGINES[engine]
    extracted: list[tuple[str, dict[str, Any]]] = []
    sources: list[dict[str, object]] = []
    for version in sorted(versions, key=order):
        checkout = Checkout(folder, f"v{version}")
        tables = extractor.extract(checkout)
        extracted.append((version, tables))
        sources.append(checkout.source(extractor.DISTRIBUTION))
        counts = ", ".join(f"{len(tables[name])} {name}" for name in ranges.TABLES if tables[name])
        print(f"{engine} {version}: {counts}", file=sys.stderr)
    return {
        "schema": ranges.SCHEMA,
        "engine": engine,
        "versions": [version for version, _ in extracted],
        "sources": sources,
        **ranges.folded(extracted),
        "help": ranges.helps(extracted),
    }


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("engine", choices=sorted(ENGINES))
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--add", action="append", default=[], metavar="VERSION", help="read this version too")
    parser.add_argument("--check", action="store_true", help="compare with what is stored, write nothing")
    options = parser.parse_args(arguments)
    versions = (*VERSIONS[options.engine], *options.add)
    text = ranges.dumped(document(options.engine, options.checkout, versions))
    path = DEFAULTS / f"{options.engine}.json"
    if not options.check:
        path.write_text(text, "utf-8")
        print(f"{path.name}: {len(text) // 1024} KiB")
        return 0
    same = path.exists() and json.loads(path.read_text("utf-8")) == json.loads(text)
    print(f"{path.name}: {'the same' if same else 'differs'}")
    return int(not same)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
