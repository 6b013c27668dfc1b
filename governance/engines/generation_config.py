"""What the keys of a model's `generation_config.json` mean in the vocabulary of the sampling tier.

- Names and meanings are those of `transformers.GenerationConfig`; which of them an engine really reads is
  that engine's to say.
- Ids of begin and padding tokens belong to the tokenizer; `transformers_version` and the like are notes.
- A key that is in no table is reported, never dropped in silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from governance.engines.keys import put
from governance.values import Json, Tree

# Key of the file -> key of the sampling tier.
SAMPLING_KEYS: Final[dict[str, str]] = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "typical_p": "typical_p",
    "epsilon_cutoff": "epsilon_cutoff",
    "eta_cutoff": "eta_cutoff",
    "repetition_penalty": "repetition_penalty",
    "no_repeat_ngram_size": "no_repeat_ngram_size",
    "length_penalty": "length_penalty",
    "do_sample": "do_sample",
    "max_new_tokens": "max_tokens",
    "min_new_tokens": "min_tokens",
    "num_beams": "beam.width",
    "early_stopping": "beam.early_stopping",
    "num_return_sequences": "n",
    "guidance_scale": "guidance_scale",
    "eos_token_id": "stop_token_ids",
    "stop_strings": "stop",
}
# What says nothing about decoding, and why it is left out.
OTHER_KEYS: Final[dict[str, str]] = {
    "bos_token_id": "a token of the tokenizer",
    "pad_token_id": "a token of the tokenizer",
    "decoder_start_token_id": "a token of the tokenizer",
    "transformers_version": "a note of the library that wrote the file",
    "_from_model_config": "a note of the library that wrote the file",
    "use_cache": "changes the speed alone",
    "max_length": "prompt and answer together: the context limit decides it when serving",
    "min_length": "prompt and answer together: min_new_tokens is the one that can be kept",
}
_LISTS: Final = frozenset(("stop_token_ids", "stop"))


@dataclass(frozen=True, slots=True)
class Generation:
    """The sampling values of one file, what it holds beside them, and keys no table knows."""

    sampling: dict[str, Json]
    left_out: dict[str, str]
    unknown: tuple[str, ...]


def read_generation_config(tree: Tree) -> Generation:
    """The file `tree` in our vocabulary; a null is "nothing said" as in the library that reads it.

    One stop id and a list of one are the same; stop ids are a set and come sorted.
    """
    sampling: dict[str, Json] = {}
    left_out: dict[str, str] = {}
    unknown: list[str] = []
    for key, value in tree.items():
        if value is None:
            continue
        if key in SAMPLING_KEYS:
            put(sampling, SAMPLING_KEYS[key], _shaped(SAMPLING_KEYS[key], value))
        elif key in OTHER_KEYS:
            left_out[key] = OTHER_KEYS[key]
        else:
            unknown.append(key)
    return Generation(sampling, left_out, tuple(unknown))


def _shaped(key: str, value: Json) -> Json:
    if key not in _LISTS:
        return value
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    ids = {item for item in items if isinstance(item, int)}
    if key == "stop_token_ids" and len(ids) == len(set(map(str, items))):
        return sorted(ids)
    return items
