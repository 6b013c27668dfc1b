"""Which keys of a tier need more than copying on their way into a digest: one literal table per tier.

- The table belongs to the scheme, like `left_out.py`; a test compares it with the schemas.
- A key that is not in the table enters as it is. A file that no key in the table consumed enters all the same
  (`layers.meaning`), so a forgotten entry costs a false difference and never a missed one.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Final

from governance.records import dataclass, field


class Shape(Enum):
    """How the value at a key enters a digest.

    `OUT`: not at all. `SET`: sorted, without repeats. `OPEN`: `1` and `1.0` differ. `FILE`: the key `file` of
    the mapping names a file, whose digest enters as `content`. `NAME`: the text itself names a file.
    `TEXT`: a text in place enters as the file with these bytes would. `VARIABLES`: without noise and secrets.
    """

    OUT = "out"
    SET = "set"
    OPEN = "open"
    FILE = "file"
    NAME = "name"
    TEXT = "text"
    VARIABLES = "variables"


SHAPES: Final[dict[str, dict[str, Shape]]] = {
    "base": {
        "description": Shape.OUT,
        "reason": Shape.OUT,
        "model.license": Shape.OUT,
        "model.weights.mirror": Shape.OUT,
        "model.generation_config": Shape.FILE,
        "model.tokenizer_config": Shape.FILE,
        "model.config": Shape.FILE,
        "model.config_overrides": Shape.OPEN,
        "model.adapters.*.target_modules": Shape.SET,
        "model.adapters.*.config": Shape.FILE,
        "precision.kv_cache.scales": Shape.FILE,
        "precision.kv_cache.skip_layers": Shape.SET,
        "engine.options.served_model_name": Shape.OUT,
        "engine.options.cuda_graph_sizes": Shape.SET,
        "engine.options.lora.target_modules": Shape.SET,
        "engine.options.generation_overrides": Shape.OPEN,
        "engine.options.kv_transfer.parameters": Shape.OPEN,
        "engine.options.rope.parameters": Shape.OPEN,
        "engine.options.multimodal.processor": Shape.OPEN,
        "engine.options.multimodal.media_io": Shape.OPEN,
        "engine.extra": Shape.OPEN,
        "image.pull_policy": Shape.OUT,
        "hardware.cpu_features": Shape.SET,
        "environment.packages": Shape.NAME,
        "environment.variables": Shape.VARIABLES,
    },
    "sampling": {
        "description": Shape.OUT,
        "reason": Shape.OUT,
        "stop_token_ids": Shape.SET,
        "allowed_token_ids": Shape.SET,
        "bad_words": Shape.SET,
        "overridable": Shape.SET,
        "extra": Shape.OPEN,
    },
    "prompts": {
        "description": Shape.OUT,
        "reason": Shape.OUT,
        "system": Shape.TEXT,
        "template": Shape.FILE,
        "template.text": Shape.TEXT,
        "template.variables.*.description": Shape.OUT,
        "template.variables.*.example": Shape.OUT,
        "template.variables.*.choices": Shape.SET,
        "few_shot": Shape.FILE,
        "few_shot.*.input": Shape.OPEN,
        "chat_template": Shape.FILE,
        "chat_template_kwargs": Shape.OPEN,
        "tokenizer_config": Shape.FILE,
        "tools": Shape.FILE,
        "documents": Shape.FILE,
        "output.schema": Shape.FILE,
        "output.grammar": Shape.FILE,
        "output.must_contain": Shape.SET,
        "output.must_not_contain": Shape.SET,
    },
}
"""Key (`*` is any key or index) and shape, by tier."""

WHY_OUT: Final[dict[str, str]] = {
    "description": "a note for people",
    "reason": "a note for people",
    "example": "for previews and tests",
    "license": "a note for people",
    "mirror": "where the same files can be fetched",
    "served_model_name": "the name clients ask for; the same model answers",
    "pull_policy": "when the image is fetched; its digest is covered",
}
"""Why a key of shape `OUT` is left out, by its last step."""


@dataclass(slots=True)
class Node:
    """One step of the table: the shape at this key, and the steps below it."""

    shape: Shape | None = None
    below: dict[str, Node] = field(default_factory=dict)

    def step(self, key: str) -> Node | None:
        """The node below for this key, by name or by `*`."""
        return self.below.get(key) or self.below.get("*")


@cache
def table(tier: str) -> Node:
    """The shapes of a tier as a tree, walked beside the config."""
    root = Node()
    for key, shape in SHAPES.get(tier, {}).items():
        node = root
        for part in key.split("."):
            node = node.below.setdefault(part, Node())
        node.shape = shape
    return root


def out_keys() -> Mapping[tuple[str, str], str]:
    """(tier, key) of everything with shape `OUT`, and why."""
    return {
        (tier, key): WHY_OUT[key.rpartition(".")[2]]
        for tier, shapes in SHAPES.items()
        for key, shape in shapes.items()
        if shape is Shape.OUT
    }
