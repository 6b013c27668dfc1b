"""What a Jinja template asks for and does, read without running it, and how it is rendered: in a sandbox.

- `read_template` parses and never renders. A template that is text with `{{ name }}` only, as most are, is
  read without Jinja, so that checking many prompts loads nothing.
- Undefined is strict: a variable nobody gave is an error, never an empty string.
- Rendering keeps every byte of the source, the last newline included; a chat template is rendered as the
  model libraries do (`trim_blocks`, `lstrip_blocks`, `loopcontrols`, `generation` blocks).
- No clock: `strftime_now` gives the date it is handed, and fails when there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from governance.errors import Unreadable
from governance.records import dataclass
from governance.values import Json

if TYPE_CHECKING:
    from datetime import date

    from jinja2 import nodes
    from jinja2.parser import Parser
    from jinja2.sandbox import ImmutableSandboxedEnvironment

_SIMPLE: Final = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)\s*-?\}\}")
_RESERVED: Final = frozenset(
    {
        "true",
        "false",
        "none",
        "True",
        "False",
        "None",
        "range",
        "dict",
        "lipsum",
        "cycler",
        "joiner",
        "namespace",
    }
    | {"self", "super", "caller", "varargs", "kwargs", "loop", "not", "and", "or", "in", "is", "if", "else"}
)
_CLOCK_NAMES: Final = frozenset(
    {"strftime_now", "now", "utcnow", "today", "current_time", "current_date_time"}
)
_CLOCK_METHODS: Final = frozenset({"now", "utcnow", "today", "fromtimestamp", "localtime", "gmtime"})
_RANDOM_FILTERS: Final = frozenset({"random", "shuffle"})
_RANDOM_NAMES: Final = frozenset({"lipsum", "random", "randint", "uuid4", "uuid", "shuffle", "sample"})
_DATE: Final = re.compile(
    r"\b(?:19|20)\d\d[-/.](?:0[1-9]|1[0-2])[-/.](?:0[1-9]|[12]\d|3[01])\b"
    r"|\b\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* (?:19|20)\d\d\b"
    r"|\b(?:January|February|March|April|May|June|July|August|September|October|November|December) \d{1,2}, "
    r"(?:19|20)\d\d\b"
)


@dataclass(frozen=True, slots=True)
class Use:
    """A name the template uses, and where: line and column count from 1."""

    name: str
    line: int
    column: int
    guarded: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a text is no template: one sentence and the line."""

    message: str
    line: int


@dataclass(frozen=True, slots=True)
class Template:
    """What one template asks for and does.

    `variables` are the names it needs from outside, by first use; `guarded` ones are only asked for with
    `is defined` or `default`. `clock` and `random` are what makes two renderings differ; `dates` are dates
    frozen into a branch; `names` is every name it mentions; `begins_with` is the text before the first
    expression; `text` is all literal text.
    """

    variables: tuple[Use, ...] = ()
    clock: tuple[Use, ...] = ()
    random: tuple[Use, ...] = ()
    dates: tuple[Use, ...] = ()
    names: frozenset[str] = frozenset()
    begins_with: str = ""
    text: str = ""
    fault: Fault | None = None

    def uses(self, name: str) -> Use | None:
        """The first use of the outside variable `name`, or None."""
        return next((use for use in self.variables if use.name == name), None)


@lru_cache(maxsize=4096)
def read_template(source: str, *, chat: bool = False) -> Template:
    """What `source` asks for and does, `chat` for a model's chat template; a bad one has a `fault`."""
    if "{%" not in source and "{#" not in source and "{{{" not in source:
        simple = _read_simple(source)
        if simple is not None:
            return simple
    return _read_with_jinja(source, chat=chat)


def render(
    source: str,
    variables: Mapping[str, Json],
    *,
    chat: bool = False,
    today: date | None = None,
    trim_blocks: bool = False,
    lstrip_blocks: bool = False,
) -> str:
    """`source` rendered in the sandbox with `variables`; `Unreadable` when it cannot be.

    `today` is what `strftime_now` tells; without it a template that asks for the date fails. The two options
    of blocks are Jinja's; a chat template always has both.
    """
    from jinja2 import TemplateError

    environment = _environment(chat=chat)
    if not chat and (trim_blocks or lstrip_blocks):
        environment = environment.overlay(trim_blocks=trim_blocks, lstrip_blocks=lstrip_blocks)
    environment.globals["strftime_now"] = _clock(today)
    environment.globals["raise_exception"] = _refuse
    try:
        return environment.from_string(source).render(**variables)
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        where = f"line {line}" if line else ""
        raise Unreadable(f"the template cannot be rendered: {error.message}", where=where) from error
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise Unreadable(f"the template cannot be rendered: {error}") from error


def _read_simple(source: str) -> Template | None:
    found = list(_SIMPLE.finditer(source))
    if len(found) != source.count("{{") or any(match[1] in _RESERVED for match in found):
        return None
    uses: dict[str, Use] = {}
    clock: list[Use] = []
    pieces: list[str] = []
    last = 0
    for match in found:
        pieces.append(source[last : match.start()])
        last = match.end()
        if match[1] not in uses:
            uses[match[1]] = _use_at(source, match[1], match.start(1))
    pieces.append(source[last:])
    return Template(
        variables=tuple(uses.values()),
        clock=tuple(clock),
        names=frozenset(uses),
        begins_with=pieces[0],
        text="".join(pieces),
    )


def _use_at(source: str, name: str, offset: int) -> Use:
    return Use(name, source.count("\n", 0, offset) + 1, offset - (source.rfind("\n", 0, offset) + 1) + 1)


def _read_with_jinja(source: str, *, chat: bool) -> Template:
    from jinja2 import TemplateSyntaxError, meta

    environment = _environment(chat=chat)
    try:
        tree = environment.parse(source)
        undeclared = meta.find_undeclared_variables(tree)
    except TemplateSyntaxError as error:
        return Template(fault=Fault((error.message or "it cannot be parsed").rstrip("."), error.lineno))
    except RecursionError:
        return Template(fault=Fault("it is nested too deeply", 1))
    return _describe(tree, source.split("\n"), undeclared)


def _describe(tree: nodes.Template, lines: list[str], undeclared: set[str]) -> Template:
    from jinja2 import nodes

    names = [node for node in tree.find_all(nodes.Name) if node.ctx == "load"]
    guards = {id(node) for node in _guarded(tree)}
    first: dict[str, Use] = {}
    for node in sorted(names, key=lambda n: n.lineno):
        if node.name not in undeclared:
            continue
        guarded = id(node) in guards
        if node.name not in first or (
            first[node.name].guarded and not guarded and not _inside(tree, node, guards)
        ):
            first[node.name] = _use(lines, node.name, node.lineno, guarded=guarded)
    datas = list(tree.find_all(nodes.TemplateData))
    return Template(
        variables=tuple(sorted(first.values(), key=lambda use: (use.line, use.column))),
        clock=tuple(_use(lines, name, line) for name, line in _clock_calls(tree)),
        random=tuple(_use(lines, name, line) for name, line in _random_calls(tree)),
        dates=tuple(_dates(tree, lines)),
        names=frozenset(node.name for node in names),
        begins_with=_beginning(tree),
        text="".join(node.data for node in datas),
    )


def _use(lines: list[str], name: str, line: int, *, guarded: bool = False) -> Use:
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    return Use(name, line, match.start() + 1 if match else 1, guarded)


def _guarded(tree: nodes.Template) -> Iterator[nodes.Node]:
    """Each name node that is only asked about: `name is defined`, `name|default(…)`."""
    from jinja2 import nodes

    for test in tree.find_all(nodes.Test):
        if test.name in {"defined", "undefined", "none"}:
            yield test.node
    for call in tree.find_all(nodes.Filter):
        if call.name in {"default", "d"} and call.node is not None:
            yield call.node


def _inside(tree: nodes.Template, node: nodes.Name, guards: set[int]) -> bool:
    """Whether `node` stands in a branch whose condition asks whether that name is defined."""
    from jinja2 import nodes

    branches: list[nodes.If | nodes.CondExpr] = [*tree.find_all(nodes.If), *tree.find_all(nodes.CondExpr)]
    for branch in branches:
        asked = {name.name for name in branch.test.find_all(nodes.Name) if id(name) in guards}
        if isinstance(branch.test, nodes.Test) and isinstance(branch.test.node, nodes.Name):
            asked.add(branch.test.node.name)
        if node.name in asked and any(found is node for found in branch.find_all(nodes.Name)):
            return True
    return False


def _clock_calls(tree: nodes.Template) -> Iterator[tuple[str, int]]:
    from jinja2 import nodes

    for call in tree.find_all(nodes.Call):
        target = call.node
        if isinstance(target, nodes.Name) and target.name in _CLOCK_NAMES:
            yield target.name, call.lineno
        elif isinstance(target, nodes.Getattr) and target.attr in _CLOCK_METHODS:
            yield target.attr, call.lineno


def _random_calls(tree: nodes.Template) -> Iterator[tuple[str, int]]:
    from jinja2 import nodes

    for call in tree.find_all(nodes.Filter):
        if call.name in _RANDOM_FILTERS:
            yield call.name, call.lineno
    for function in tree.find_all(nodes.Call):
        if isinstance(function.node, nodes.Name) and function.node.name in _RANDOM_NAMES:
            yield function.node.name, function.lineno


def _dates(tree: nodes.Template, lines: list[str]) -> Iterator[Use]:
    """Each date written into a branch of the template: what is said when nobody gives a date."""
    from jinja2 import nodes

    seen: set[tuple[int, int]] = set()
    for branch in tree.find_all((nodes.If, nodes.CondExpr, nodes.Filter)):
        for node in branch.find_all((nodes.TemplateData, nodes.Const)):
            text = node.data if isinstance(node, nodes.TemplateData) else str(getattr(node, "value", ""))
            for match in _DATE.finditer(text):
                line = node.lineno + text.count("\n", 0, match.start())
                column = (lines[line - 1].find(match[0]) if line <= len(lines) else 0) + 1
                if (line, column) not in seen:
                    seen.add((line, column))
                    yield Use(match[0], line, max(column, 1))


def _beginning(tree: nodes.Template) -> str:
    """The literal text the template begins with, or `{name}` when it begins with an expression."""
    from jinja2 import nodes

    for node in tree.body:
        if isinstance(node, nodes.Output):
            for part in node.nodes:
                if not isinstance(part, nodes.TemplateData):
                    return ""
                if part.data:
                    return part.data
        elif not isinstance(node, nodes.Assign | nodes.Macro | nodes.Import | nodes.AssignBlock):
            return ""
    return ""


@lru_cache(maxsize=2)
def _parser_environment(chat: bool) -> ImmutableSandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        keep_trailing_newline=not chat,
        trim_blocks=chat,
        lstrip_blocks=chat,
        extensions=["jinja2.ext.loopcontrols", _generation_extension()] if chat else [],
    )


def _environment(*, chat: bool) -> ImmutableSandboxedEnvironment:
    return _parser_environment(chat).overlay()


def _generation_extension() -> type:
    from jinja2.ext import Extension

    class Generation(Extension):
        """`{% generation %}…{% endgeneration %}`: marks the model's own words; renders its body."""

        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser: Parser) -> list[nodes.Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    return Generation


def _clock(today: date | None) -> Callable[[str], str]:
    def strftime_now(form: str) -> str:
        if today is None:
            raise ValueError("it asks for today's date and `date` is not pinned")
        return today.strftime(form)

    return strftime_now


def _refuse(message: str) -> str:
    raise ValueError(message)
