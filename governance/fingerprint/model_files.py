"""Which files of a model folder shape answers: a literal table, and everything not in it counts too.

- A file is left out only when the table says so; an unknown file is covered. A new format costs a digest and
  never a miss.
- Names are matched whole, in lower case, without their folder; folders by their first step.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

ROLES: Final[tuple[tuple[str, str], ...]] = (
    ("*.safetensors.index.json", "index"),
    ("*.bin.index.json", "index"),
    ("adapter_model.*", "adapter"),
    ("adapter_config.json", "adapter"),
    ("mmproj*.gguf", "weights"),
    ("*.safetensors", "weights"),
    ("*.gguf", "weights"),
    ("*.bin", "weights"),
    ("*.pt", "weights"),
    ("*.pth", "weights"),
    ("*.npz", "weights"),
    ("*.ckpt", "weights"),
    ("*.onnx", "weights"),
    ("*.onnx_data", "weights"),
    ("*.engine", "weights"),
    ("config.json", "config"),
    ("params.json", "config"),
    ("generation_config.json", "generation config"),
    ("hf_quant_config.json", "config"),
    ("quantization_config.json", "config"),
    ("quantize_config.json", "config"),
    ("quant_config.json", "config"),
    ("chat_template*", "chat template"),
    ("*.jinja", "chat template"),
    ("tokenizer*", "tokenizer"),
    ("special_tokens_map.json", "tokenizer"),
    ("added_tokens.json", "tokenizer"),
    ("vocab.*", "tokenizer"),
    ("merges.txt", "tokenizer"),
    ("spiece.model", "tokenizer"),
    ("*.model", "tokenizer"),
    ("*.tiktoken", "tokenizer"),
    ("tekken.json", "tokenizer"),
    ("*preprocessor_config.json", "preprocessor"),
    ("processor_config.json", "preprocessor"),
    ("modules.json", "config"),
    ("config_sentence_transformers.json", "config"),
    ("*.py", "code"),
)
"""Name pattern and role; the first that fits."""

EXCLUDED: Final[tuple[tuple[str, str], ...]] = (
    ("readme*", "text for people"),
    ("*.md", "text for people"),
    ("license*", "text for people"),
    ("notice*", "text for people"),
    ("use_policy*", "text for people"),
    ("*.pdf", "text for people"),
    ("*.png", "picture"),
    ("*.jpg", "picture"),
    ("*.jpeg", "picture"),
    ("*.gif", "picture"),
    ("*.svg", "picture"),
    ("*.webp", "picture"),
    (".git*", "of git"),
    ("optimizer.pt", "training state"),
    ("scheduler.pt", "training state"),
    ("rng_state*.pth", "training state"),
    ("trainer_state.json", "training state"),
    ("training_args.bin", "training state"),
    ("events.out.tfevents.*", "training log"),
    ("*.lock", "left by a download"),
    ("*.incomplete", "left by a download"),
    ("*.metadata", "left by a download"),
    (".ds_store", "left by a desktop"),
    ("thumbs.db", "left by a desktop"),
)
"""Name pattern of what is left out, and why."""

EXCLUDED_FOLDERS: Final[tuple[tuple[str, str], ...]] = (
    (".git", "of git"),
    (".cache", "left by a download"),
    (".locks", "left by a download"),
    (".no_exist", "left by a download"),
    ("__pycache__", "compiled on the host"),
)


def excluded(name: str) -> bool:
    """Whether the file `name` (or the folder, with a slash at its end) is left out of the weights layer."""
    steps = name.lower().split("/")
    if steps[-1] == "":
        return any(steps[-2] == folder for folder, _ in EXCLUDED_FOLDERS)
    return any(fnmatchcase(steps[-1], pattern) for pattern, _ in EXCLUDED)


def role(name: str) -> str:
    """What the file is for an engine: `weights`, `tokenizer`, `generation config`, …, or `other`."""
    base = name.lower().rpartition("/")[2]
    return next((found for pattern, found in ROLES if fnmatchcase(base, pattern)), "other")
