"""Sampling tier: what floats, what leaves the task's range, what claims too much, what contradicts itself.

- A key that is absent floats; `inherit` says that this is meant.
- The built-in profiles are literal; `profiles` in `tierlock.yaml` adds to them and may narrow or widen them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from governance.tiers.rules.model import (
    ERROR,
    NOTE,
    WARNING,
    Context,
    Hit,
    Rule,
    listed,
    number,
    section,
    texts,
    whole,
)
from governance.values import Json, Tree

PROFILES: Final[dict[str, Tree]] = {
    "factual": {
        "temperature": {"min": 0.0, "max": 0.3},
        "top_p": {"min": 0.1, "max": 1.0},
        "min_p": {"min": 0.0, "max": 0.5},
        "repetition_penalty": {"min": 0.95, "max": 1.15},
        "presence_penalty": {"min": -0.5, "max": 0.5},
        "frequency_penalty": {"min": -0.5, "max": 0.5},
    },
    "code": {
        "temperature": {"min": 0.0, "max": 0.4},
        "top_p": {"min": 0.1, "max": 1.0},
        "min_p": {"min": 0.0, "max": 0.5},
        "repetition_penalty": {"min": 0.95, "max": 1.05},
        "presence_penalty": {"min": -0.2, "max": 0.2},
        "frequency_penalty": {"min": -0.2, "max": 0.2},
    },
    "creative": {
        "temperature": {"min": 0.4, "max": 1.5},
        "top_p": {"min": 0.5, "max": 1.0},
        "min_p": {"min": 0.0, "max": 0.3},
        "repetition_penalty": {"min": 0.9, "max": 1.3},
        "presence_penalty": {"min": -1.0, "max": 1.5},
        "frequency_penalty": {"min": -1.0, "max": 1.5},
    },
}
SHAPING: Final = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "max_tokens")
_FILTERS: Final = ("top_p", "top_k", "min_p", "typical_p", "top_n_sigma")
_NEUTRAL: Final[dict[str, frozenset[float]]] = {
    "top_p": frozenset({1.0}), "top_k": frozenset({0, -1}), "min_p": frozenset({0.0}),
    "typical_p": frozenset({1.0}),
    "top_n_sigma": frozenset({-1.0, 0.0}), "repetition_penalty": frozenset({1.0}),
    "presence_penalty": frozenset({0.0}), "frequency_penalty": frozenset({0.0}),
}  # fmt: skip
# Which entries of `samplers` (llama.cpp's names) a parameter needs to be in the list.
_NEEDS_SAMPLER: Final[dict[str, tuple[str, ...]]] = {
    "temperature": ("temperature", "temp"), "top_p": ("top_p",), "top_k": ("top_k",),
    "min_p": ("min_p",),
    "typical_p": ("typ_p", "typical_p", "typical"), "top_n_sigma": ("top_n_sigma",),
    "xtc": ("xtc",), "dry": ("dry",),
    "repetition_penalty": ("penalties",), "presence_penalty": ("penalties",),
    "frequency_penalty": ("penalties",),
}  # fmt: skip


def is_greedy(sampling: Tree) -> bool:
    """Whether the config says that the most likely token is always taken."""
    return sampling.get("temperature") == 0 or sampling.get("do_sample") is False


def floating(sampling: Tree) -> tuple[str, ...]:
    """The decoding parameters that shape answers and that nobody set, most telling first."""
    greedy = is_greedy(sampling)
    return tuple(
        key
        for key in SHAPING
        if key not in sampling and not (greedy and (key in _FILTERS or key == "temperature"))
    )


def profile_of(context: Context, task: Json) -> Tree:
    """The ranges of `task`: those of `tierlock.yaml` over the built-in ones."""
    name = task if isinstance(task, str) else ""
    own = context.profiles.get(name)
    return {**PROFILES.get(name, {}), **own} if own is not None else PROFILES.get(name, {})


def out_of_range(profile: Tree, key: str, value: Json) -> str:
    """Why `value` is outside the range of `key` in `profile`: `above 0.3`; empty when it is inside."""
    amount = number(value)
    if amount is None:
        return ""
    bounds = section(profile, key)
    low, high = number(bounds.get("min")), number(bounds.get("max"))
    if high is not None and amount > high:
        return f"above {high:g}"
    if low is not None and amount < low:
        return f"below {low:g}"
    return ""


def _temperature(context: Context) -> Iterator[Hit]:
    task = context.tree.get("task")
    fault = out_of_range(profile_of(context, task), "temperature", context.tree["temperature"])
    if fault:
        value = number(context.tree["temperature"])
        yield Hit(
            f"temperature {value:g} is {fault}, the range of task `{task}`",
            ("temperature",),
            "lower it, or give the config the task it is for",
        )


def _profile(context: Context) -> Iterator[Hit]:
    task = context.tree.get("task")
    profile = profile_of(context, task)
    for key in profile:
        if key != "temperature" and key in context.tree:
            fault = out_of_range(profile, key, context.tree[key])
            if fault:
                yield Hit(f"`{key}` is {fault}, the range of task `{task}`", (key,))


def _unknown_task(context: Context) -> Iterator[Hit]:
    task = context.tree.get("task")
    if isinstance(task, str) and task not in PROFILES and task not in context.profiles:
        known = ", ".join(sorted({*PROFILES, *context.profiles}))
        yield Hit(
            f"there is no profile `{task}`, so no range is checked",
            ("task",),
            f"choose from {known}, or define it under `profiles` in tierlock.yaml",
        )


def _no_task(context: Context) -> Iterator[Hit]:
    if "task" not in context.tree:
        yield Hit("no `task`: the values are checked against no profile", ("kind",), "add `task: factual`")


def _floating(context: Context) -> Iterator[Hit]:
    names = floating(context.tree)
    if names:
        verb = "is" if len(names) == 1 else "are"
        yield Hit(
            f"{listed(names)} {verb} not pinned: engine and model decide",
            ("kind",),
            "write a value, or `inherit` where that is meant",
        )


def _seed(context: Context) -> Iterator[Hit]:
    tree = context.tree
    if tree["deterministic"] is True and not is_greedy(tree) and whole(tree.get("seed")) is None:
        yield Hit(
            "`deterministic: true` with sampling and no `seed`",
            ("seed",) if "seed" in tree else ("deterministic",),
            "add `seed: 42`, or `temperature: 0`",
        )


def _sampled(context: Context) -> Iterator[Hit]:
    tree = context.tree
    if tree["deterministic"] is not True or is_greedy(tree):
        return
    temperature = tree.get("temperature")
    amount = number(temperature)
    shown = f"`temperature: {amount:g}`" if amount is not None else "a temperature that nobody set"
    yield Hit(
        f"`deterministic: true` with {shown}",
        ("temperature",) if "temperature" in tree else ("deterministic",),
        "write `temperature: 0`, or drop the claim",
        severity=WARNING if amount is not None and whole(tree.get("seed")) is not None else None,
    )


def _several(context: Context) -> Iterator[Hit]:
    for key in ("n", "best_of"):
        count = whole(context.tree.get(key))
        if context.tree["deterministic"] is True and count is not None and count > 1:
            yield Hit(f"`deterministic: true` with `{key}: {count}`", (key,))


def _greedy_filters(context: Context) -> Iterator[Hit]:
    tree = context.tree
    if not is_greedy(tree):
        return
    useless = [
        key for key in _FILTERS if number(tree.get(key)) is not None and tree[key] not in _NEUTRAL[key]
    ]
    if useless:
        verb = "does" if len(useless) == 1 else "do"
        yield Hit(f"{listed(useless)} {verb} nothing at temperature 0", (useless[0],), on_key=True)


def _lengths(context: Context) -> Iterator[Hit]:
    low, high = whole(context.tree["min_tokens"]), whole(context.tree.get("max_tokens"))
    if low is not None and high is not None and low > high:
        yield Hit(f"`min_tokens: {low}` is above `max_tokens: {high}`", ("min_tokens",))


def _best_of(context: Context) -> Iterator[Hit]:
    best, count = whole(context.tree["best_of"]), whole(context.tree.get("n")) or 1
    if best is not None and best < count:
        yield Hit(f"`best_of: {best}` cannot return `n: {count}` answers", ("best_of",))


def _do_sample(context: Context) -> Iterator[Hit]:
    sample, temperature = context.tree["do_sample"], number(context.tree.get("temperature"))
    if temperature is None or not isinstance(sample, bool):
        return
    if sample and temperature == 0:
        yield Hit("`do_sample: true` at temperature 0", ("do_sample",), "write `do_sample: false`")
    elif not sample and temperature > 0:
        yield Hit(
            f"`do_sample: false` makes `temperature: {temperature:g}` do nothing",
            ("do_sample",),
            "keep one of the two",
        )


_LIMITS: Final[dict[str, tuple[float, float, str]]] = {
    "repetition_penalty": (0.9, 1.3, "names, numbers and closing brackets must repeat"),
    "presence_penalty": (-1.0, 1.5, "the text avoids its own subject"),
    "frequency_penalty": (-1.0, 1.5, "frequent small words run out"),
    "top_p": (0.05, 1.0, "it leaves one token most of the time"),
}


def _extreme(context: Context) -> Iterator[Hit]:
    for key, (low, high, reason) in _LIMITS.items():
        value = number(context.tree.get(key))
        if value is not None and not low <= value <= high:
            yield Hit(f"`{key}: {value:g}` is extreme: {reason}", (key,))
    size = whole(context.tree.get("no_repeat_ngram_size"))
    if size is not None and 1 <= size <= 3:
        yield Hit(
            f"`no_repeat_ngram_size: {size}` forbids a name of {size} tokens to appear twice",
            ("no_repeat_ngram_size",),
        )
    stacked = [
        key
        for key in ("repetition_penalty", "presence_penalty", "frequency_penalty")
        if number(context.tree.get(key)) is not None and context.tree[key] not in _NEUTRAL[key]
    ]
    if len(stacked) > 1:
        yield Hit(f"{listed(stacked)} all punish the same repeats", (stacked[0],), on_key=True)


def _mirostat(context: Context) -> Iterator[Hit]:
    if (whole(section(context.tree, "mirostat").get("mode")) or 0) == 0:
        return
    hidden = [key for key in (*_FILTERS, "xtc") if key in context.tree and context.tree[key] != "inherit"]
    if hidden:
        yield Hit(f"mirostat runs instead of {listed(hidden)}", ("mirostat",), "keep one of the two")


def _samplers(context: Context) -> Iterator[Hit]:
    order = texts(context.tree["samplers"])
    if not order:
        return
    for key, names in _NEEDS_SAMPLER.items():
        value = context.tree.get(key)
        if value is None or value == "inherit" or not isinstance(value, int | float | dict):
            continue
        if isinstance(value, int | float) and value in _NEUTRAL.get(key, ()):
            continue
        if not any(name in order for name in names):
            yield Hit(
                f"`{key}` is set and `samplers` does not run it", (key,), f"add `{names[0]}` to `samplers`"
            )


def _overridable(context: Context) -> Iterator[Hit]:
    keys = texts(context.tree["overridable"])
    free = [key for key in keys if key in profile_of(context, context.tree.get("task"))]
    if free:
        yield Hit(
            f"a request may set {listed(free)} to values outside the range of task "
            f"`{context.tree.get('task')}`",
            ("overridable",),
        )
    if context.tree.get("deterministic") is True:
        broken = [key for key in keys if key in {"temperature", "seed", "n", "do_sample", "top_p", "top_k"}]
        if broken:
            yield Hit(
                f"a request may set {listed(broken)}, and `deterministic: true` ends there", ("overridable",)
            )


def _ignore_eos(context: Context) -> Iterator[Hit]:
    if context.tree["ignore_eos"] is True:
        yield Hit(
            "`ignore_eos: true` makes every answer run to the limit",
            ("ignore_eos",),
            "this is for benchmarks",
        )


def _thinking(context: Context) -> Iterator[Hit]:
    budget, limit = whole(context.tree["thinking_budget"]), whole(context.tree.get("max_tokens"))
    if budget is not None and limit is not None and budget >= limit:
        yield Hit(
            f"`thinking_budget: {budget}` leaves nothing of `max_tokens: {limit}`", ("thinking_budget",)
        )


def _logprobs(context: Context) -> Iterator[Hit]:
    top = whole(context.tree["top_logprobs"])
    if top is not None and top != 0 and context.tree.get("logprobs") is not True:
        yield Hit(
            f"`top_logprobs: {top}` without `logprobs: true` is refused or ignored",
            ("top_logprobs",),
            "add `logprobs: true`",
        )


def _beams(context: Context) -> Iterator[Hit]:
    beam = section(context.tree, "beam")
    width, count = whole(beam.get("width")), whole(context.tree.get("n")) or 1
    if width is None or width == 1:
        return
    if not is_greedy(context.tree) and (number(context.tree.get("temperature")) or 0) > 0:
        yield Hit("beam search with a temperature draws beams at random", ("beam", "width"))
    if count > width:
        yield Hit(f"`n: {count}` answers from {width} beams", ("n",))


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "TL301", "temperature-outside-profile", ERROR, ("sampling",),
        what="The temperature is outside the range of the task's profile.",
        why="It flattens or sharpens the distribution of every token of every answer.",
        fix="Lower it, or name the task the config is really for; ranges live under `profiles` in "
        "tierlock.yaml.",
        check=_temperature, needs="temperature",
    ),
    Rule(
        "TL302", "value-outside-profile", ERROR, ("sampling",),
        what="Another decoding parameter is outside the range of the task's profile.",
        why="A wide nucleus or a strong penalty undoes a low temperature.",
        fix="Write a value inside the range, or change the profile with a review.",
        check=_profile, needs="task",
    ),
    Rule(
        "TL303", "unknown-task", ERROR, ("sampling",),
        what="`task` names no profile.",
        why="A misspelt task would check nothing.",
        fix="Choose `factual`, `code`, `creative`, or define the profile in tierlock.yaml.",
        check=_unknown_task, needs="task",
    ),
    Rule(
        "TL304", "no-task", NOTE, ("sampling",),
        what="The config names no task.",
        why="Without one its values are checked against no range.",
        fix="Add `task`.",
        check=_no_task,
    ),
    Rule(
        "TL310", "floating-parameter", WARNING, ("sampling",),
        what="A parameter that shapes answers is neither set nor `inherit`.",
        why="Engine and model fill it in, and an upgrade of either changes it while this file stays the "
        "same.",
        fix="Write a value, or `inherit` where that is meant. `tierlock resolve` shows what applies now.",
        check=_floating,
    ),
    Rule(
        "TL320", "seed-missing", ERROR, ("sampling",),
        what="The config claims repeatable output, samples, and has no seed.",
        why="Each call draws other random numbers.",
        fix="Add `seed`, or `temperature: 0`.",
        check=_seed, needs="deterministic",
    ),
    Rule(
        "TL321", "deterministic-but-sampled", ERROR, ("sampling",),
        what="The config claims repeatable output at a temperature above 0. It is a warning when there is a "
        "seed.",
        why="With a seed, rounding that differs with the batch still sends a draw to another token.",
        fix="Write `temperature: 0`, or drop `deterministic`.",
        check=_sampled, needs="deterministic",
    ),
    Rule(
        "TL322", "deterministic-but-several", ERROR, ("sampling",),
        what="The config claims repeatable output and draws several answers.",
        why="The answers share a batch and a generator; their order is not guaranteed.",
        fix="Write `n: 1`.",
        check=_several, needs="deterministic",
    ),
    Rule(
        "TL330", "filter-without-effect", WARNING, ("sampling",),
        what="A filter such as `top_p` is set while decoding is greedy.",
        why="It does nothing today and comes alive with the first temperature above 0.",
        fix="Remove it, or write the neutral value.",
        check=_greedy_filters,
    ),
    Rule(
        "TL331", "lengths-contradict", ERROR, ("sampling",),
        what="`min_tokens` is above `max_tokens`.",
        why="The server refuses every request.",
        fix="Correct one of the two.",
        check=_lengths, needs="min_tokens",
    ),
    Rule(
        "TL332", "best-of-below-n", ERROR, ("sampling",),
        what="`best_of` is below `n`.",
        why="The server refuses every request.",
        fix="Correct one of the two.",
        check=_best_of, needs="best_of",
    ),
    Rule(
        "TL334", "do-sample-contradicts", ERROR, ("sampling",),
        what="`do_sample` and `temperature` say different things.",
        why="Engines differ in which of the two they follow.",
        fix="Keep one of the two.",
        check=_do_sample, needs="do_sample",
    ),
    Rule(
        "TL335", "extreme-penalty", WARNING, ("sampling",),
        what="A penalty, an n-gram ban or a nucleus is extreme, or several penalties are stacked.",
        why="Text stays fluent while facts, code and names that must repeat are pushed away.",
        fix="Go back to the neutral value and raise it in small steps with an evaluation.",
        check=_extreme,
    ),
    Rule(
        "TL336", "mirostat-hides-filters", WARNING, ("sampling",),
        what="Mirostat is on, and filters are set that it replaces.",
        why="The filters look as if they worked.",
        fix="Remove the filters, or turn mirostat off.",
        check=_mirostat, needs="mirostat",
    ),
    Rule(
        "TL337", "sampler-not-run", ERROR, ("sampling",),
        what="A parameter is set whose sampler is not in `samplers`.",
        why="The value has no effect, and nothing says so.",
        fix="Add the sampler to the list, or remove the value.",
        check=_samplers, needs="samplers",
    ),
    Rule(
        "TL340", "override-leaves-profile", WARNING, ("sampling",),
        what="Requests may override a parameter that the profile or the claim of repeatability fixes.",
        why="One client can leave the range that was reviewed.",
        fix="Remove the key from `overridable`.",
        check=_overridable, needs="overridable",
    ),
    Rule(
        "TL341", "ignore-eos", ERROR, ("sampling",),
        what="`ignore_eos` is true.",
        why="The model cannot end an answer; it runs on into nonsense until the limit.",
        fix="Remove it; it is for benchmarks.",
        check=_ignore_eos, needs="ignore_eos",
    ),
    Rule(
        "TL342", "thinking-fills-answer", ERROR, ("sampling",),
        what="The thinking budget is not below `max_tokens`.",
        why="The answer is empty whenever the model thinks for as long as it may.",
        fix="Raise `max_tokens` or lower the budget.",
        check=_thinking, needs="thinking_budget",
    ),
    Rule(
        "TL343", "top-logprobs-alone", ERROR, ("sampling",),
        what="`top_logprobs` is set without `logprobs: true`.",
        why="The server refuses the request or returns none.",
        fix="Add `logprobs: true`.",
        check=_logprobs, needs="top_logprobs",
    ),
    Rule(
        "TL345", "beams-contradict", ERROR, ("sampling",),
        what="Beam search is combined with a temperature, or asked for more answers than beams.",
        why="Engines refuse it or sample inside the beams.",
        fix="Write `temperature: 0`, and `n` up to the number of beams.",
        check=_beams, needs="beam",
    ),
)  # fmt: skip
