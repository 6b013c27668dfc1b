"""Base tier, what is loaded: every name must be a commit or a digest, and every adapter must do something.

- A branch, a tag and a short hash are names; only a whole commit or a file digest is a pin.
- A tokenizer, an adapter, a draft model and remote code are models of their own: each needs its pin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from governance.tiers.rules.model import (
    ERROR,
    WARNING,
    Context,
    Hit,
    Rule,
    listed,
    mappings,
    section,
    text_at,
    texts,
    whole,
)
from governance.values import Json, KeyPath, Tree

_COMMIT: Final = re.compile(r"(?:[0-9a-fA-F]{40}|(?:sha256:)?[0-9a-fA-F]{64})\Z")
_HEX: Final = re.compile(r"[0-9a-fA-F]{4,63}\Z")
_WHOLE_COMMIT: Final = "write the whole commit, 40 hexadecimal digits: git ls-remote shows it"
# Engines fuse these projections; a LoRA on a part is a LoRA on the fused one (vLLM `packed_modules_mapping`).
_FUSED: Final[dict[str, frozenset[str]]] = {
    "qkv_proj": frozenset({"q_proj", "k_proj", "v_proj"}),
    "gate_up_proj": frozenset({"gate_proj", "up_proj"}),
    "in_proj_qkv": frozenset({"q_proj", "k_proj", "v_proj"}),
    "W_pack": frozenset({"q_proj", "k_proj", "v_proj"}),
}
_ALL_LINEAR: Final = frozenset({"all-linear", "all"})


def pin_fault(revision: str) -> str:
    """Why `revision` is no pin, as the end of a sentence; empty when it is a whole commit or digest."""
    if _COMMIT.match(revision):
        return ""
    if _HEX.match(revision):
        return f"`{revision}` is an abbreviated commit"
    return f"`{revision}` is a branch or a tag, which moves"


def is_local(name: str) -> bool:
    """Whether a model or adapter id is a path on the host or a bucket, not a repository of a hub."""
    return name.startswith(("/", "./", "../", "~", "file:", "s3:", "gs:", "pvc:")) or name.endswith(".gguf")


def _moving(context: Context) -> Iterator[Hit]:
    model = section(context.tree, "model")
    for key in ("revision", "code_revision", "config_revision"):
        revision = model.get(key)
        if isinstance(revision, str) and not _COMMIT.match(revision):
            yield Hit(f"`{key}`: {pin_fault(revision)}", ("model", key), _WHOLE_COMMIT)
    if "tokenizer" in model:
        revision = text_at(model, "tokenizer", "revision")
        if revision and not _COMMIT.match(revision):
            yield Hit(
                f"the tokenizer's `revision`: {pin_fault(revision)}",
                ("model", "tokenizer", "revision"),
                _WHOLE_COMMIT,
            )


def _unpinned(context: Context) -> Iterator[Hit]:
    model = section(context.tree, "model")
    if "revision" in model or section(model, "weights", "files"):
        return
    name = text_at(model, "id")
    if is_local(name):
        yield Hit(
            f"nothing says which files `{name}` holds",
            ("model", "id"),
            "list the digests in `model.weights.files`",
        )
    else:
        yield Hit(
            f"`{name}` has no `revision`, so its default branch is served",
            ("model", "id"),
            "add `model.revision`",
        )


def _tokenizer(context: Context) -> Iterator[Hit]:
    model = section(context.tree, "model")
    tokenizer = section(model, "tokenizer")
    if "revision" in tokenizer or tokenizer.get("files"):
        return
    name, own = text_at(model, "id"), text_at(tokenizer, "id")
    if own and own != name and not is_local(own):
        yield Hit(
            f"the tokenizer comes from `{own}` at its default branch",
            ("model", "tokenizer", "id"),
            "add `model.tokenizer.revision`",
            severity=ERROR,
        )
    elif text_at(model, "weights", "format") != "gguf" and not is_local(own or name):
        yield Hit(
            "the tokenizer is not pinned; where the engine does not follow `model.revision`, the default "
            "branch is read",
            ("model", "tokenizer") if tokenizer else ("model", "id"),
            "add `tokenizer: {revision: …}` beside `model.revision`",
        )


def _adapter_name(adapter: Tree) -> str:
    return f"adapter `{adapter.get('name')}`"


def _adapters_unpinned(context: Context) -> Iterator[Hit]:
    for index, adapter in mappings(section(context.tree, "model").get("adapters")):
        at: KeyPath = ("model", "adapters", index)
        revision, name = text_at(adapter, "revision"), text_at(adapter, "id")
        if revision and not _COMMIT.match(revision):
            yield Hit(f"{_adapter_name(adapter)}: {pin_fault(revision)}", (*at, "revision"), _WHOLE_COMMIT)
        elif not revision and not adapter.get("files"):
            where = f"repository `{name}`" if name else f"folder `{text_at(adapter, 'path')}`"
            yield Hit(
                f"{_adapter_name(adapter)} is whatever {where} holds today",
                (*at, "name"),
                "add its `revision`" if name else "list its files with digests in `files`",
            )


def _fused(modules: Iterable[str]) -> frozenset[str]:
    parts: set[str] = set()
    for module in modules:
        last = module.rsplit(".", 1)[-1]
        parts |= _FUSED.get(last, frozenset({last}))
    return frozenset(parts)


def _adapter_config(context: Context, adapter: Tree) -> Tree:
    data = context.files.get(text_at(adapter, "config", "file"))
    return json_object(data) if data is not None else {}


def json_object(data: bytes) -> Tree:
    """The JSON object in `data`; an empty one when it is none. That it is broken is another rule's to say."""
    import json

    try:
        value: Json = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _targets_apart(context: Context) -> Iterator[Hit]:
    allowed = texts(section(context.options, "lora").get("target_modules"))
    if not allowed or _ALL_LINEAR.intersection(allowed):
        return
    for index, adapter in mappings(section(context.tree, "model").get("adapters")):
        at: KeyPath = ("model", "adapters", index)
        wanted = texts(adapter.get("target_modules"))
        key: KeyPath = (*at, "target_modules") if wanted else (*at, "config", "file")
        wanted = wanted or texts(_adapter_config(context, adapter).get("target_modules"))
        if not wanted or _ALL_LINEAR.intersection(wanted):
            continue
        lost = _fused(wanted) - _fused(allowed)
        if not lost:
            continue
        nothing = lost == _fused(wanted)
        yield Hit(
            f"{_adapter_name(adapter)} changes {listed(wanted)} but the launch allows {listed(allowed)}: "
            + (
                "it loads without an error and does nothing"
                if nothing
                else f"{listed(sorted(lost))} are dropped"
            ),
            key,
            "make `engine.options.lora.target_modules` cover the adapter",
            severity=ERROR if nothing else WARNING,
        )


def _not_servable(context: Context) -> Iterator[Hit]:
    lora = section(context.options, "lora")
    limit = whole(lora.get("max_rank"))
    for index, adapter in mappings(section(context.tree, "model").get("adapters")):
        at: KeyPath = ("model", "adapters", index)
        if lora.get("enabled") is False and not adapter.get("merged"):
            yield Hit(f"{_adapter_name(adapter)} is listed but `lora.enabled` is false", (*at, "name"))
        rank = whole(adapter.get("rank")) or whole(_adapter_config(context, adapter).get("r"))
        if limit is not None and rank is not None and rank > limit:
            yield Hit(
                f"{_adapter_name(adapter)} has rank {rank} and the engine loads up to {limit}",
                (*at, "rank") if "rank" in adapter else (*at, "name"),
                "raise `engine.options.lora.max_rank`",
            )


def _other_model(context: Context) -> Iterator[Hit]:
    name = text_at(context.tree, "model", "id")
    for index, adapter in mappings(section(context.tree, "model").get("adapters")):
        trained = text_at(_adapter_config(context, adapter), "base_model_name_or_path")
        if trained and not is_local(trained) and not is_local(name) and trained != name:
            yield Hit(
                f"{_adapter_name(adapter)} was trained on `{trained}`, not on `{name}`",
                ("model", "adapters", index, "config", "file"),
            )


def _weights(context: Context) -> Iterator[Hit]:
    model = section(context.tree, "model")
    if "revision" not in model or section(model, "weights", "files"):
        return
    yield Hit(
        "the weight files have no digests, so the files a host really loads cannot be checked",
        ("model", "weights") if "weights" in model else ("model", "id"),
        "run `tierlock capture` where the weights lie, and copy the digests to `model.weights.files`",
    )


def _remote_code(context: Context) -> Iterator[Hit]:
    model = section(context.tree, "model")
    if model.get("trust_remote_code") is not True or "code_revision" in model:
        return
    pinned = not pin_fault(text_at(model, "revision"))
    yield Hit(
        "`trust_remote_code` runs code of the model repository"
        + (", and code it takes from other repositories is not pinned" if pinned else " at no commit"),
        ("model", "trust_remote_code"),
        "add `model.code_revision`",
        severity=WARNING if pinned else ERROR,
    )


def _draft_model(context: Context) -> Iterator[Hit]:
    draft = section(context.options, "speculative")
    name, revision = text_at(draft, "model"), text_at(draft, "revision")
    at: KeyPath = ("engine", "options", "speculative")
    if not name or draft.get("files"):
        return
    if revision and not _COMMIT.match(revision):
        yield Hit(f"draft model `{name}`: {pin_fault(revision)}", (*at, "revision"), _WHOLE_COMMIT)
    elif not revision:
        yield Hit(
            f"draft model `{name}` is not pinned",
            (*at, "model"),
            "add `revision`, or `files` with digests, beside it",
        )


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "TL201", "moving-revision", ERROR, ("base",),
        what="A revision of model, code, config or tokenizer is a branch, a tag or an abbreviated commit.",
        why="The name stays the same while what it names moves: every fingerprint of the file says “same” "
        "and the "
        "answers change. A short hash can come to name two commits.",
        fix="Write the whole commit (40 hexadecimal digits).",
        check=_moving, needs="model",
    ),
    Rule(
        "TL202", "model-not-pinned", ERROR, ("base",),
        what="Neither a revision nor file digests say which weights are served.",
        why="The default branch of a hub, a local folder or a bucket can hold other files tomorrow.",
        fix="Add `model.revision`, or list the files with digests in `model.weights.files`.",
        check=_unpinned, needs="model",
    ),
    Rule(
        "TL203", "tokenizer-not-pinned", WARNING, ("base",),
        what="The tokenizer has no revision of its own. It is an error when it comes from another "
        "repository.",
        why="Some engines and wrappers read the tokenizer from the default branch although the weights are "
        "pinned; "
        "one changed special token changes every prompt.",
        fix="Add `model.tokenizer.revision`. A GGUF file holds its tokenizer and needs none.",
        check=_tokenizer, needs="model",
    ),
    Rule(
        "TL204", "adapter-not-pinned", ERROR, ("base",),
        what="An adapter has a moving or short revision, or neither revision nor file digests.",
        why="An adapter changes answers as much as weights do.",
        fix="Add the whole commit as `revision`, or `files` with digests.",
        check=_adapters_unpinned, needs="model.adapters",
    ),
    Rule(
        "TL205", "adapter-targets-apart", ERROR, ("base",),
        what="The modules an adapter changes are not among those the launch lets adapters change. It is a "
        "warning "
        "when only some are left out.",
        why="The server lists the adapter, reports no error and returns the base model's text.",
        fix="Make `engine.options.lora.target_modules` cover the adapter's modules.",
        check=_targets_apart, needs="model.adapters",
    ),
    Rule(
        "TL206", "adapter-not-servable", ERROR, ("base",),
        what="An adapter is listed while adapters are off, or its rank is above the engine's maximum.",
        why="The engine refuses it at start, or at the first request that asks for it.",
        fix="Set `engine.options.lora.enabled: true`, or raise `max_rank`.",
        check=_not_servable, needs="model.adapters",
    ),
    Rule(
        "TL207", "adapter-of-another-model", WARNING, ("base",),
        what="The adapter's own `adapter_config.json` names another base model.",
        why="An adapter trained on a sibling model often loads, and gives worse answers than none.",
        fix="Serve the adapter on the model it was trained on.",
        check=_other_model, needs="model.adapters",
    ),
    Rule(
        "TL208", "weights-without-digests", WARNING, ("base",),
        what="The weights are named by a commit only; no file has a digest.",
        why="A commit says what the hub should give, a digest what the host has: a mirror, a cache or a "
        "converted "
        "copy cannot be told from the original without one.",
        fix="List the files with `sha256:` or `blake3:` digests in `model.weights.files`.",
        check=_weights, needs="model",
    ),
    Rule(
        "TL209", "remote-code-not-pinned", ERROR, ("base",),
        what="`trust_remote_code` is on and nothing pins the code. It is a warning when the model has a "
        "commit: code "
        "that the model takes from another repository is still free.",
        why="The code of the model repository decides the whole forward pass, and runs with the server's "
        "rights.",
        fix="Add `model.code_revision`, or turn `trust_remote_code` off.",
        check=_remote_code, needs="model.trust_remote_code",
    ),
    Rule(
        "TL210", "draft-model-not-pinned", ERROR, ("base",),
        what="The draft model of speculative decoding has no commit.",
        why="Another draft changes which tokens are verified together, and with relaxed acceptance the "
        "answers.",
        fix="Add `engine.options.speculative.revision`, or its `files` with digests.",
        check=_draft_model, needs="engine.options",
    ),
)  # fmt: skip
