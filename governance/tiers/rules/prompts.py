"""Prompts tier, text and templates: what is undefined, unused, written twice, or different every day."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from governance.tiers.rules.base import json_object
from governance.tiers.rules.budget import least
from governance.tiers.rules.examples import examples, text_of
from governance.tiers.rules.model import (
    ERROR,
    NOTE,
    WARNING,
    Context,
    Hit,
    Place,
    Rule,
    section,
    text_at,
    texts,
    whole,
)
from governance.tiers.templates import Template, Use, read_template
from governance.values import KeyPath, Tree

# What engines and transformers hand to a chat template.
_CHAT_VARIABLES: Final = frozenset(
    {
        "messages",
        "tools",
        "documents",
        "add_generation_prompt",
        "continue_final_message",
        "bos_token",
        "eos_token",
    }
    | {
        "pad_token",
        "unk_token",
        "sep_token",
        "cls_token",
        "mask_token",
        "additional_special_tokens",
        "strftime_now",
    }
    | {
        "raise_exception",
        "tool_choice",
        "response_format",
        "builtin_tools",
        "custom_tools",
        "date_string",
        "functions",
    }
    | {
        "tools_in_user_message",
        "enable_thinking",
        "thinking",
        "reasoning_effort",
        "model_identity",
        "add_vision_id",
    }
)
_BOS_TEXTS: Final = (
    "<s>",
    "<|begin_of_text|>",
    "<bos>",
    "<|startoftext|>",
    "<|begin_of_sentence|>",
    "[BOS]",
    "<BOS_TOKEN>",
)


class Source(NamedTuple):
    """One template of a config: its text, whether it is a chat template, and where it stands."""

    text: str
    chat: bool
    file: str
    key: KeyPath
    read: Template

    def hit(self, use: Use, message: str, hint: str = "") -> Hit:
        """A hit at `use`: in the file, or at the key when the template is written in the config."""
        if self.file:
            return Hit(message, self.key, hint, place=Place(self.file, use.line, use.column, len(use.name)))
        return Hit(message, self.key, hint)


def template_of(context: Context) -> Source | None:
    """The user template of the config, or None when it has none that is rendered."""
    template = section(context.tree, "template")
    if not template or template.get("engine") == "none":
        return None
    name = text_at(template, "file")
    text = text_of(context.files, name) if name else text_at(template, "text")
    if text is None or not text:
        return None
    return Source(text, False, name, ("template", "file" if name else "text"), read_template(text))


def chat_template_of(context: Context) -> Source | None:
    """The chat template of the config: its own file, else the one in the tokenizer config beside it."""
    name = text_at(context.tree, "chat_template", "file")
    if name:
        text = text_of(context.files, name)
        if text is None:
            return None
        return Source(text, True, name, ("chat_template", "file"), read_template(text, chat=True))
    inside = tokenizer_config(context).get("chat_template")
    if not isinstance(inside, str):
        return None
    return Source(inside, True, "", ("tokenizer_config", "file"), read_template(inside, chat=True))


def tokenizer_config(context: Context) -> Tree:
    """The tokenizer config kept beside the prompts; empty when there is none."""
    data = context.files.get(text_at(context.tree, "tokenizer_config", "file"))
    return json_object(data) if data is not None else {}


def _sources(context: Context) -> Iterator[Source]:
    if "template" in context.tree:
        user = template_of(context)
        if user is not None:
            yield user
    if "chat_template" in context.tree or "tokenizer_config" in context.tree:
        chat = chat_template_of(context)
        if chat is not None:
            yield chat


def _broken(context: Context) -> Iterator[Hit]:
    for source in _sources(context):
        fault = source.read.fault
        if fault is not None:
            yield source.hit(Use("", fault.line, 1), f"the template cannot be parsed: {fault.message}")


def _undefined(context: Context) -> Iterator[Hit]:
    source = template_of(context)
    if source is None:
        return
    declared = section(context.tree, "template", "variables")
    for use in source.read.variables:
        if (
            use.name not in declared
            and use.name not in {"strftime_now", "raise_exception"}
            and not use.guarded
        ):
            yield source.hit(
                use,
                f"`{use.name}` is not among the template's variables",
                f"add `{use.name}: text` to `template.variables`",
            )


def _unused(context: Context) -> Iterator[Hit]:
    source = template_of(context)
    if source is None or source.read.fault is not None:
        return
    for name in section(context.tree, "template", "variables"):
        if name not in source.read.names:
            yield Hit(f"the template does not use `{name}`", ("template", "variables", name), on_key=True)


def _clock(context: Context) -> Iterator[Hit]:
    if "date" in context.tree:
        return
    for source in _sources(context):
        for use in source.read.clock[:1]:
            yield source.hit(
                use,
                f"the rendered prompt depends on the clock (`{use.name}`)",
                'pin it: `date: "YYYY-MM-DD"`, or take the date as a variable',
            )


def _frozen(context: Context) -> Iterator[Hit]:
    for source in _sources(context):
        for use in source.read.dates:
            yield source.hit(use, f"the date {use.name} is frozen into a branch of the template")


def _random(context: Context) -> Iterator[Hit]:
    for source in _sources(context):
        for use in source.read.random:
            yield source.hit(use, f"`{use.name}` makes every rendering different")


def _bos_use(source: Source, tokens: tuple[str, ...]) -> Use | None:
    if "bos_token" in source.read.names:
        return source.read.uses("bos_token") or Use("bos_token", 1, 1)
    start = source.read.begins_with.lstrip()
    written = next((token for token in tokens if start.startswith(token)), "")
    return Use(written, 1, 1) if written else None


def _bos_twice(context: Context) -> Iterator[Hit]:
    tree = context.tree
    if tree.get("add_special_tokens") is False:
        return
    bos = section(tree, "bos")
    config = tokenizer_config(context)
    adds = bos.get("added_by_tokenizer", config.get("add_bos_token"))
    asked = tree.get("add_special_tokens") is True
    if adds is False or not (asked or adds is True):
        return
    own = tuple(t for t in (text_at(bos, "token"), config.get("bos_token")) if isinstance(t, str) and t)
    for source in _sources(context):
        use = _bos_use(source, (*own, *_BOS_TEXTS))
        if use is not None:
            certain = asked and adds is True
            yield Hit(
                "the begin-of-sequence token is written twice: the template writes it and "
                + ("the tokenizer adds one" if certain else "the tokenizer may add one"),
                source.key,
                "write `add_special_tokens: false`, or take it out of the template",
                severity=None if certain else WARNING,
                place=Place(source.file, use.line, use.column, max(1, len(use.name)))
                if source.file
                else None,
            )


def _kwargs_unused(context: Context) -> Iterator[Hit]:
    source = chat_template_of(context)
    if source is None or source.read.fault is not None:
        return
    for name in section(context.tree, "chat_template_kwargs"):
        if name not in source.read.names:
            yield Hit(f"the chat template does not use `{name}`", ("chat_template_kwargs", name), on_key=True)


def _chat_variables(context: Context) -> Iterator[Hit]:
    source = chat_template_of(context)
    if source is None:
        return
    given = section(context.tree, "chat_template_kwargs")
    for use in source.read.variables:
        if use.name not in _CHAT_VARIABLES and use.name not in given and not use.guarded:
            yield source.hit(
                use,
                f"no engine gives a chat template `{use.name}`",
                "add it to `chat_template_kwargs`, or mend the name",
            )


def _stops(context: Context) -> Iterator[tuple[str, str, KeyPath]]:
    """Each stop string that holds for the context, with the tier and key it stands at."""
    for index, stop in enumerate(texts(context.tree.get("stop")) if context.tier == "prompts" else ()):
        yield stop, "", ("stop", index)
    if context.tier == "service":
        for index, stop in enumerate(texts(context.sampling.get("stop"))):
            yield stop, "sampling", ("stop", index)


def _as_prompts(context: Context) -> Context:
    """The context of the prompts config that a service binds; for a prompts config itself."""
    if context.tier == "prompts":
        return context
    return Context(tier="prompts", tree=context.prompts, files=context.prompts_files)


def _stop_in_template(context: Context) -> Iterator[Hit]:
    stops = [s for s in _stops(context) if s[0].strip()]
    if not stops:
        return
    prompts = _as_prompts(context)
    source = template_of(prompts)
    prefix = text_at(prompts.tree, "response_prefix")
    for stop, tier, key in stops:
        if stop in prefix:
            yield Hit(f"the stop string `{stop}` stands in `response_prefix`", key, tier=tier, severity=ERROR)
        elif source is not None and stop in source.read.text:
            yield Hit(
                f"the stop string `{stop}` stands in the template: an answer that repeats its form ends "
                "there",
                key,
                "use a text that only ends an answer",
                tier=tier,
            )


def _stop_in_example(context: Context) -> Iterator[Hit]:
    stops = list(_stops(context))
    if not stops:
        return
    prompts = _as_prompts(context)
    answers = [shot for shot in examples(prompts) if shot.answer]
    for stop, tier, key in stops:
        cut = next((shot for shot in answers if stop in shot.text), None)
        if cut is not None:
            start = cut.text.index(stop) == 0
            yield Hit(
                f"the stop string `{_shown(stop)}` {'begins' if start else 'cuts'} the example answer "
                f"{cut.where}: " + ("generation ends at once" if start else "such answers end early"),
                key,
                tier=tier,
            )


def _shown(text: str) -> str:
    return text.replace("\n", "\\n").replace("\t", "\\t")


def _over_own_limit(context: Context) -> Iterator[Hit]:
    limit = whole(context.tree["max_prompt_tokens"])
    text = fixed_text(context)
    if limit is not None and least(text) > limit:
        yield Hit(
            f"the fixed text alone takes at least {least(text)} tokens (estimated) of `max_prompt_tokens: "
            f"{limit}`",
            ("max_prompt_tokens",),
        )


def fixed_text(context: Context) -> str:
    """All text that goes into every prompt: system, template, examples, tools, documents."""
    system = context.tree.get("system")
    parts = [
        system
        if isinstance(system, str)
        else text_of(context.files, text_at(context.tree, "system", "file")) or ""
    ]
    source = template_of(context)
    if source is not None:
        parts.append(source.read.text)
    parts += [shot.text for shot in examples(context)]
    parts += [
        text_of(context.files, text_at(context.tree, key, "file")) or "" for key in ("tools", "documents")
    ]
    return "\n".join(parts)


def _tools(context: Context) -> Iterator[Hit]:
    import json

    name = text_at(context.tree, "tools", "file")
    text = text_of(context.files, name)
    if text is None:
        return
    try:
        tools = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(tools, list):
        yield Hit("tools are a list of functions", ("tools", "file"), place=Place(name, 1, 1))
        return
    seen: set[str] = set()
    for index, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) else None
        called = function.get("name") if isinstance(function, dict) else None
        if not isinstance(called, str) or not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", called):
            yield Hit(
                f"tool {index + 1} has no function with a name", ("tools", "file"), place=Place(name, 1, 1)
            )
        elif called in seen:
            yield Hit(f"two tools are called `{called}`", ("tools", "file"), place=Place(name, 1, 1))
        else:
            seen.add(called)


def _order(context: Context) -> Iterator[Hit]:
    shots = [shot for shot in examples(context) if shot.role]
    if not shots:
        return
    if shots[-1].role not in {"assistant", "tool"}:
        yield _at(shots[-1].place, shots[-1].key, "the examples end with a question that nobody answers")
    for before, after in pairwise(shots):
        if before.role == after.role and after.role in {"user", "assistant"}:
            yield _at(after.place, after.key, f"two `{after.role}` messages in a row")


def _at(place: Place | None, key: KeyPath, message: str) -> Hit:
    return Hit(message, key, place=place)


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "TL410", "template-broken", ERROR, ("prompts",),
        what="A template cannot be parsed.",
        why="Every request that needs it fails.",
        fix="Mend the named line.",
        check=_broken,
    ),
    Rule(
        "TL411", "template-variable-undefined", ERROR, ("prompts",),
        what="The template uses a name that is not among its declared variables.",
        why="Undefined is strict: rendering fails; with a lenient renderer the prompt would silently miss a "
        "part.",
        fix="Declare it under `template.variables` with its type, or mend the name.",
        check=_undefined, needs="template",
    ),
    Rule(
        "TL412", "template-variable-unused", WARNING, ("prompts",),
        what="A declared variable is not used by the template.",
        why="Callers give a value, and the model never sees it.",
        fix="Use it, or remove the declaration.",
        check=_unused, needs="template.variables",
    ),
    Rule(
        "TL413", "template-reads-clock", WARNING, ("prompts",),
        what="The rendered prompt depends on the clock, and `date` is not pinned.",
        why="Answers differ from day to day with no change in git; comparing two days then looks like drift.",
        fix='Pin it with `date: "YYYY-MM-DD"` for evaluations, or pass the date in as a variable.',
        check=_clock,
    ),
    Rule(
        "TL414", "date-frozen", WARNING, ("prompts",),
        what="A branch of the template holds a fixed date.",
        why="Where the engine offers no clock, the model is told that it is that day, for ever.",
        fix="Take the date as a variable, or refuse to render without one.",
        check=_frozen,
    ),
    Rule(
        "TL415", "template-random", ERROR, ("prompts",),
        what="The template draws at random.",
        why="No two prompts are equal, so no answer can be repeated or compared.",
        fix="Draw outside, and pass the result in as a variable.",
        check=_random,
    ),
    Rule(
        "TL416", "bos-twice", ERROR, ("prompts",),
        what="The template writes the begin-of-sequence token and the tokenizer adds one. It is a warning "
        "when only "
        "one of `add_special_tokens` and the tokenizer's own setting is known to be on.",
        why="Two tokens where the model was trained with one: about six points of accuracy in a public "
        "report, and on "
        "one path only.",
        fix="Write `add_special_tokens: false`, or take the token out of the template.",
        check=_bos_twice,
    ),
    Rule(
        "TL417", "chat-template-argument-unused", WARNING, ("prompts",),
        what="A value in `chat_template_kwargs` is not used by the chat template.",
        why="`enable_thinking: false` does nothing on a template that calls it something else.",
        fix="Write the name the template uses.",
        check=_kwargs_unused, needs="chat_template_kwargs",
    ),
    Rule(
        "TL418", "chat-template-variable-unknown", NOTE, ("prompts",),
        what="The chat template uses a name that no engine gives it and `chat_template_kwargs` does not "
        "hold.",
        why="Engines render it leniently: the part is silently empty.",
        fix="Add it to `chat_template_kwargs`, or mend the name.",
        check=_chat_variables, needs="chat_template",
    ),
    Rule(
        "TL420", "stop-in-template", WARNING, ("prompts", "service"),
        what="A stop string stands in the template itself. It is an error in `response_prefix`.",
        why="A model that repeats the form of its prompt is cut off in the middle, or ends at once.",
        fix="Use a text that only ends an answer.",
        check=_stop_in_template,
    ),
    Rule(
        "TL423", "stop-in-example", ERROR, ("prompts", "service"),
        what="A stop string stands in an example answer.",
        why="The examples teach answers that the server cuts off.",
        fix="Change the stop string or the examples.",
        check=_stop_in_example,
    ),
    Rule(
        "TL424", "examples-out-of-order", WARNING, ("prompts",),
        what="Example messages end without an answer, or one role speaks twice in a row.",
        why="Chat templates of many models refuse it or merge the messages.",
        fix="Let user and assistant take turns, and end with the assistant.",
        check=_order, needs="few_shot",
    ),
    Rule(
        "TL425", "tools-malformed", ERROR, ("prompts",),
        what="The tools are no list of named functions, or two have one name.",
        why="The server refuses the request, or calls the wrong function.",
        fix="Write `[{\"type\": \"function\", \"function\": {\"name\": …}}]` with distinct names.",
        check=_tools, needs="tools",
    ),
    Rule(
        "TL441", "fixed-text-over-limit", ERROR, ("prompts",),
        what="System text, template and examples alone exceed `max_prompt_tokens` (estimated from below).",
        why="Every request is refused or cut.",
        fix="Shorten the text or raise the limit.",
        check=_over_own_limit, needs="max_prompt_tokens",
    ),
)  # fmt: skip
