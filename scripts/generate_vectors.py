"""Write docs/reference/fingerprint-vectors.json: inputs and digests by which another language checks itself.

`--check` writes nothing and says whether the file is stale. The vectors hold plain JSON: a config as its
typed values and the text of its files, an observed layer as its value, and the canonical bytes of each. Exit
codes: 0 written, or not stale · 1 stale under `--check` · 2 usage.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from generated import run

PAGE = "docs/reference/fingerprint-vectors.json"

CONFIGS: list[dict[str, Any]] = [
    {
        "what": "numbers: 1.0 in a field of floats is 1, -0.0 is 0",
        "tier": "sampling",
        "values": {
            "kind": "sampling",
            "temperature": 0.1,
            "top_p": 1.0,
            "presence_penalty": -0.0,
            "seed": 42,
        },
    },
    {
        "what": "a set is sorted and loses repeats; stop strings keep their order; a note is left out",
        "tier": "sampling",
        "values": {"kind": "sampling", "stop_token_ids": [7, 2, 7], "stop": ["b", "a"], "description": "why"},
    },
    {
        "what": "a text in place enters by its bytes",
        "tier": "prompts",
        "values": {"kind": "prompts", "system": "Be brief.\n"},
    },
    {
        "what": "the same text in a file has the same digest; the name of the file means nothing",
        "tier": "prompts",
        "values": {"kind": "prompts", "system": {"file": "system.md"}},
        "files": {"system.md": "Be brief.\n"},
    },
    {
        "what": "a template with variables, few-shot examples in a file",
        "tier": "prompts",
        "values": {
            "kind": "prompts",
            "template": {"file": "user.md.j2", "variables": {"article": "text"}},
            "few_shot": {"file": "few_shot.jsonl", "limit": 2},
        },
        "files": {
            "user.md.j2": "Summarise: {{ article }}",
            "few_shot.jsonl": '{"input": "é", "output": "ok"}\n',
        },
    },
    {
        "what": "where the type is open, 1.0 is marked and differs from 1; a key with tl: is escaped",
        "tier": "base",
        "values": {
            "kind": "base",
            "model": {"id": "acme/tern-7b-chat"},
            "engine": {"name": "vllm", "version": "0.8.4", "extra": {"one": 1, "float": 1.0, "tl:x": True}},
        },
    },
    {
        "what": "noise and secrets among the variables are left out",
        "tier": "base",
        "values": {
            "kind": "base",
            "environment": {
                "variables": {"VLLM_USE_V1": "1", "VLLM_LOGGING_LEVEL": "DEBUG", "HF_TOKEN": "env:HF_TOKEN"}
            },
        },
    },
    {
        "what": "a lock file enters by its bytes",
        "tier": "base",
        "values": {"kind": "base", "environment": {"packages": "requirements.lock"}},
        "files": {"requirements.lock": "torch==2.6.0+cu124\n"},
    },
]
RECORDS = [
    "\r\n".join(
        [
            "../../../bin/tool,sha256=SHEBANG,200",
            "../../../share/tool/data.bin,sha256=DATA,9",
            "tool-1.0.dist-info/INSTALLER,sha256=PIP,4",
            "tool-1.0.dist-info/METADATA,sha256=META,900",
            "tool-1.0.dist-info/RECORD,,",
            "tool/__init__.py,sha256=INIT,10",
            "tool/__pycache__/__init__.cpython-311.pyc,,",
            "",
        ]
    )
]
LISTS = ["Torch==2.6.0+CU124\nzope_interface==6.2.0  # via x\n"]


def vectors() -> dict[str, Any]:
    """Every vector, computed."""
    from governance.fingerprint.layers import SERVICE_SCHEMA, Fingerprint
    from governance.tiers.canonical import SCHEME

    fold = {"base": "1" * 64, "sampling": "2" * 64, "prompts": "3" * 64}
    return {
        "scheme": SCHEME,
        "service_schema": SERVICE_SCHEMA,
        "configs": [_config(item) for item in CONFIGS],
        "folds": [{"layers": fold, "fold": Fingerprint(fold).fold()}],
        "records": [_record(text) for text in RECORDS],
        "package_lists": [_list(text) for text in LISTS],
        "layers": [{"layer": name, **_layer(value)} for name, value in _observed().items()],
    }


def _config(item: Mapping[str, Any]) -> dict[str, Any]:
    from governance.fingerprint.layers import config_digest, meaning
    from governance.tiers.canonical import canonical
    from governance.tiers.config import Config, ConfigId
    from governance.tiers.reader import read_yaml

    files = {f"example/{name}": text.encode() for name, text in item.get("files", {}).items()}
    path = f"configs/{item['tier']}/example.yaml"
    config = Config(ConfigId(item["tier"], "example"), path, item["values"], read_yaml(b"", path), files)
    return {**item, "canonical": canonical(meaning(config)).decode(), "digest": config_digest(config)}


def _record(text: str) -> dict[str, str]:
    from governance.fingerprint.wheel_record import record_digest

    return {"record": text, "digest": record_digest(text.encode())}


def _list(text: str) -> dict[str, Any]:
    from governance.fingerprint.freeze import from_list
    from governance.fingerprint.packages import layer_value

    value = layer_value(from_list(text.encode(), "freeze.txt"))
    assert isinstance(value, dict)
    return {"list": text, **_layer(value)}


def _layer(value: Mapping[str, Any]) -> dict[str, Any]:
    from governance.tiers.canonical import canonical, digest

    return {"value": value, "canonical": canonical(value).decode(), "digest": digest(value)}


def _observed() -> dict[str, Mapping[str, Any]]:
    from governance.fingerprint import image, platform, weights
    from governance.fingerprint.gpu import Gpu, Gpus, Slice
    from governance.fingerprint.layers import effective_value
    from governance.values import Unknown
    from governance.verdict import EffectiveValue

    a100 = Gpu("NVIDIA A100-SXM4-80GB", 81920, mig=(Slice(42, 40192), Slice(28, 19968)))
    host = platform.Platform(
        {"version": "3.12.4", "implementation": "cpython", "libc": "glibc 2.36", "machine": "x86_64"},
        Gpus("535.183.06", "12.2", (a100,), "NVML"),
        platform.Framework("2.6.0+cu124", "12.4", cudnn="9.1.0.70", nccl="2.21.5"),
        os_packages={"libc6": "2.36-9"},
        variables={"VLLM_USE_V1": "1"},
    )
    found = {
        "effective": effective_value(
            [EffectiveValue("sampling.top_p", 1.0), EffectiveValue("sampling.top_k", 20)]
        ),
        "weights": weights.layer_value(
            weights.Weights((weights.WeightFile("m.gguf", 5, "blake3:" + "a" * 64),))
        ),
        "platform": platform.layer_value(host),
        "image": image.layer_value(
            image.Image(
                "r.example/a",
                manifest="sha256:" + "b" * 64,
                mounts=(image.Mount("/x", "sha256:" + "c" * 64),),
            )
        ),
    }
    return {name: value for name, value in found.items() if not isinstance(value, Unknown)}


def main(arguments: list[str] | None = None) -> int:
    """Write the file, or say under `--check` whether it is stale."""
    return run(lambda: {PAGE: text().encode()}, __doc__, arguments)


def text() -> str:
    """The whole file."""
    return json.dumps(vectors(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main())
