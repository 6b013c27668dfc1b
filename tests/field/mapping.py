"""The fixed mapping from the neutral keys of the field cases to our schema: one function per tier.

- The inputs under `cases/` are as they were collected; nothing is adapted case by case.
- A key this mapping does not know is an error, so that no part of a case is dropped unseen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from governance.tiers.reader import read_yaml
from governance.tiers.writer import dump

Tree = dict[str, Any]


def neutral(data: bytes, path: str = "case.yaml") -> Tree:
    """The tree of a neutral input, read by our reader."""
    reading = read_yaml(data, path)
    assert isinstance(reading.tree, dict), reading.findings
    return reading.tree


def base(tree: Mapping[str, Any]) -> Tree:
    """A neutral base tier as ours."""
    rest = dict(tree)
    model = dict(rest.pop("model"))
    result: Tree = {
        "kind": "base",
        "model": model,
        "precision": {},
        "engine": {**rest.pop("engine"), "options": {}},
    }
    options = result["engine"]["options"]
    if (revision := model.pop("tokenizer_revision", None)) is not None:
        model["tokenizer"] = {"revision": revision}
    if (dtype := rest.pop("dtype", None)) is not None:
        result["precision"]["dtype"] = dtype
    if (method := rest.pop("quantization", None)) is not None:
        result["precision"]["weights"] = {"method": method}
    if (cache := rest.pop("kv_cache_dtype", None)) is not None:
        result["precision"]["kv_cache"] = {"dtype": cache}
    for neutral_key, ours in (("max_model_len", "max_model_len"), ("attention_backend", "attention")):
        if (value := rest.pop(neutral_key, None)) is not None:
            options[ours] = value
    if (hardware := rest.pop("hardware", None)) is not None:
        result["hardware"] = dict(hardware)
    if (image := rest.pop("image", None)) is not None:
        result["image"] = {"ref": image}
    if (lora := rest.pop("lora", None)) is not None:
        options["lora"] = {"enabled": True, "target_modules": lora["target_modules"]}
        model["adapters"] = [_adapter(each) for each in lora["adapters"]]
    assert not rest, f"no mapping for {sorted(rest)}"
    return {key: value for key, value in result.items() if value != {}}


def _adapter(tree: Mapping[str, Any]) -> Tree:
    name = str(tree["path"]).rsplit("/", 1)[-1]
    return {**tree, "config": {"file": f"{name}/adapter_config.json"}}


def sampling(tree: Mapping[str, Any]) -> Tree:
    """A neutral sampling tier as ours: the keys are the same."""
    return {"kind": "sampling", **tree}


def prompts(tree: Mapping[str, Any]) -> Tree:
    """A neutral prompts tier as ours: files are named by their base name, in the config's own folder."""
    result: Tree = {"kind": "prompts", **tree}
    for key in ("chat_template", "tokenizer_config"):
        if isinstance(result.get(key), str):
            result[key] = {"file": result[key].rsplit("/", 1)[-1]}
    if (form := result.pop("output_format", None)) is not None:
        result["output"] = {"format": form}
    return result


def deployment(tree: Mapping[str, Any]) -> Tree:
    """What a neutral Kubernetes deployment says of the base tier: image, model and variables.

    A value taken from a secret becomes a reference, as our schema asks for.
    """
    container = tree["spec"]["template"]["spec"]["containers"][0]
    arguments = container["args"]
    variables = {
        each["name"]: each["value"] if "value" in each else f"env:{each['name']}" for each in container["env"]
    }
    return {
        "kind": "base",
        "model": {"id": arguments[arguments.index("--model") + 1]},
        "engine": {"name": "vllm", "version": "0.8.4"},
        "image": {"ref": container["image"]},
        "environment": {"variables": variables},
    }


_PLACES = {
    "tiers/base.yaml": "configs/base/tern.yaml",
    "tiers/sampling.yaml": "configs/sampling/tern.yaml",
    "tiers/Sampling.yaml": "configs/sampling/Tern.yaml",
    "tiers/prompts/system.yaml": "configs/prompts/tern.yaml",
    "tiers/prompts": "configs/prompts",
}
_WORDS = {
    "git add tiers;": "git add configs;",
    "*system.yaml)": "*/tern.yaml)",
    "printf 'system:": r"printf 'kind: prompts\nsystem:",
}
_HEREDOC = re.compile(r"  cat > \"\$1/(tiers/\S+)\" <<'EOF'\n(.*?)\nEOF\n", re.DOTALL)
_WRITES = re.compile(r"tiers\(\)\{.*?\n\}\n", re.DOTALL)


def script(text: str, services: str) -> str:
    """The `make.sh` of a git case as ours: what it writes mapped tier by tier, its paths by place.

    `services` is our tierlock.yaml, which the cases have no word for. A folder of ours stays when its last
    config goes, as theirs does.
    """
    tiers = {"base.yaml": base, "sampling.yaml": sampling, "prompts/system.yaml": prompts}
    written = {_PLACES[path]: dump(tiers[path.removeprefix("tiers/")](neutral(content.encode())))
               for path, content in _HEREDOC.findall(text)}  # fmt: skip
    assert len(written) == 3, "the case writes other tiers than the three that are mapped"
    written |= {"tierlock.yaml": services, "configs/sampling/.gitkeep": ""}
    lines = ["tiers(){", '  mkdir -p "$1/configs/base" "$1/configs/sampling" "$1/configs/prompts"']
    lines += [f"  cat > \"$1/{path}\" <<'EOF'\n{content}EOF" for path, content in written.items()]
    result = _WRITES.sub(lambda _: "\n".join([*lines, "}"]) + "\n", text, count=1)
    head, tail = result.split("\n}\n", 1)
    for path in sorted(_PLACES, key=len, reverse=True):
        tail = tail.replace(path, _PLACES[path])
    for theirs, ours in _WORDS.items():
        tail = tail.replace(theirs, ours)
    assert "tiers/" not in tail, f"no mapping for {tail}"
    return f"{head}\n}}\n{tail}"
