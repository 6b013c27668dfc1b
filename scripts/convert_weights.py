"""Turns a GGUF chat model into the folder of safetensors that vLLM and transformers serve.

    python scripts/convert_weights.py WEIGHTS.gguf FOLDER

Runs in the vLLM environment (needs torch, transformers, gguf, accelerate). The folder appears only when it
is whole.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM


def convert(weights: Path, folder: Path) -> None:
    """Write `weights` as bfloat16 safetensors with tokenizer and chat template to `folder`."""
    loaded = AutoModelForCausalLM.from_pretrained(weights.parent, gguf_file=weights.name)
    config = loaded.config
    # A model read from GGUF refuses to be saved; a fresh one with the same values does not.
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = LlamaForCausalLM(config)
    model.load_state_dict(loaded.state_dict())
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        whole = Path(scratch) / "model"
        model.to(torch.bfloat16).save_pretrained(whole)
        AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name).save_pretrained(whole)
        whole.replace(folder)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
