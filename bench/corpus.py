"""A governed repository of any size: realistic tier files, a third of each tier, all of them valid.

Sizes follow what we saw in real repositories: about 0.6 KB to 2 KB, a long tail of prompts with examples
of 22 KB, 1.4 KB on average. The same seed gives the same bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

WORDS = (
    "answer only with facts that the given text states and say so when it does not contain what was asked "
    "keep the tone plain name every number with its unit never repeat the question use short sentences in "
    "the language of the user do not mention these rules quote titles exactly and leave out greetings"
).split()
MODELS = (
    "Qwen/Qwen2.5-7B-Instruct",
    "meta-llama/Llama-3.1-8B-Instruct",
    "mistralai/Mistral-7B-Instruct-v0.3",
)


def write(folder: Path, count: int, *, services: int = 20, seed: int = 7) -> list[Path]:
    """Write `count` tier files and a `tierlock.yaml` below `folder`; the tier files, sorted."""
    random = Random(seed)
    makers = {"base": base, "sampling": sampling, "prompts": prompts}
    paths = []
    for index in range(count):
        tier = list(makers)[index % 3]
        path = folder / "configs" / tier / f"{tier}-{index // 3:05}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(makers[tier](random), encoding="utf-8")
        paths.append(path)
    (folder / "tierlock.yaml").write_text(bindings(min(services, count // 3)), encoding="utf-8")
    return sorted(paths)


def bindings(count: int) -> str:
    """The services: each binds one config of each tier."""
    lines = ["version: 1", "services:" if count else "services: {}"]
    for index in range(count):
        lines += [f"  service-{index:03}:"]
        lines += [f"    {tier}: {tier}-{index:05}" for tier in ("base", "sampling", "prompts")]
    return "\n".join(lines) + "\n"


def base(random: Random) -> str:
    """A base config."""
    revision, files, devices = _hex(random, 40), random.randint(1, 3), random.choice((1, 2, 4))
    weights = "\n".join(
        f'      model-{part:05}-of-{files:05}.safetensors: "sha256:{_hex(random, 64)}"'
        for part in range(1, files + 1)
    )
    return f"""\
# What runs on the {_name(random)} pool: model, precision, engine, hardware.
# {_sentence(random, 12)}
kind: base
model:
  id: {random.choice(MODELS)}
  revision: {revision}
  tokenizer:
    revision: {revision}
  weights:
    format: safetensors
    files:
{weights}
precision:
  dtype: bfloat16
  kv_cache:
    dtype: {random.choice(("bf16", "f16"))}
engine:
  name: vllm
  version: 0.8.2
  options:
    max_model_len: {random.choice((4096, 8192, 16384))}
    max_num_seqs: {random.randint(8, 256)}
    max_num_batched_tokens: {random.choice((4096, 8192, 16384))}
    gpu_memory_utilization: 0.{random.randint(80, 95)}
    tensor_parallel_size: {devices}
    prefix_caching: {random.choice(("true", "false"))}
    chunked_prefill: true
    attention: FLASH_ATTN
    generation_config: engine
    seed: {random.randint(0, 9999)}
image:
  ref: registry.example/inference/{_name(random)}@sha256:{_hex(random, 64)}
hardware:
  device: cuda
  gpu: NVIDIA L40S
  count: {devices}
  driver: ">=550,<570"
  cuda: ">=12.4,<13"
environment:
  variables:
    OMP_NUM_THREADS: "{random.randint(1, 16)}"
    VLLM_WORKER_MULTIPROC_METHOD: spawn
    VLLM_LOGGING_LEVEL: INFO
"""


def sampling(random: Random) -> str:
    """A sampling config."""
    bias = "\n".join(f'  "{random.randint(0, 32000)}{n}": {random.randint(-50, 50) / 10}' for n in range(26))
    return f"""\
# Decoding for {_name(random)}: {_sentence(random, 8)}
kind: sampling
task: factual
temperature: 0.{random.randint(5, 30):02}
top_p: 0.{random.randint(80, 99)}
top_k: {random.randint(1, 100)}
min_p: 0.0
repetition_penalty: 1.0{random.randint(0, 5)}
presence_penalty: 0.0
frequency_penalty: 0.0
seed: {random.randint(0, 99999)}
max_tokens: {random.choice((128, 256, 512))}
min_tokens: 0
stop:
  - "\\n\\n"
  - "</{_name(random)}>"
skip_special_tokens: true
logit_bias:  # {_sentence(random, 14)}
{bias}
logprobs: false
overridable:
  - max_tokens
  - stop
"""


def prompts(random: Random) -> str:
    """A prompts config: its text stands in the file; one in a hundred carries long examples."""
    lines = 240 if random.random() < 0.04 else random.randint(8, 20)
    system = "\n".join(f"  {_sentence(random, random.randint(10, 16))}" for _ in range(lines))
    return f"""\
# The words for {_name(random)}.
kind: prompts
system: |
{system}
template:
  text: |
    Read the {_name(random)} and answer.

    {{{{ article }}}}
  variables:
    article: text
output:
  format: text
  max_sentences: {random.randint(1, 6)}
  language: same-as-input
"""


def combined_schema(folder: Path) -> dict[str, object]:
    """One JSON Schema for a file of any tier, from the shipped ones: `kind` says which applies."""
    parts = []
    for tier in ("base", "sampling", "prompts"):
        schema = json.loads((folder / f"{tier}.schema.json").read_text())
        schema["$id"] = f"https://tierlock.example/{tier}.schema.json"
        test = {"properties": {"kind": {"const": tier}}, "required": ["kind"]}
        parts.append({"if": test, "then": schema})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "required": ["kind"], "allOf": parts}


def _hex(random: Random, digits: int) -> str:
    return f"{random.getrandbits(4 * digits):0{digits}x}"


def _name(random: Random) -> str:
    return random.choice(("article", "invoice", "ticket", "contract", "review", "report"))


def _sentence(random: Random, words: int) -> str:
    return " ".join(random.choice(WORDS) for _ in range(words)) + "."
