"""Evaluates Python source without importing it: enough of the language for option declarations.

- Names are followed through modules, imports, classes, enums and type aliases of one source tree.
- A function body can be run, so that `parser.add_argument(...)` calls are seen with their real arguments.
- What cannot be worked out is an `Unresolved` with its source text: never a guess. Any operation on an
  unresolved value is unresolved.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from extractors.wheel import Sources

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
    ast.LShift: operator.lshift,
    ast.Mod: operator.mod,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.LtE: operator.le,
    ast.GtE: operator.ge,
}
SAFE_METHODS = {
    str: {
        "replace",
        "lower",
        "upper",
        "strip",
        "lstrip",
        "split",
        "format",
        "join",
        "startswith",
        "endswith",
    },
    list: {"append", "remove", "extend", "copy", "sort", "index"},
    dict: {"keys", "values", "items", "get", "pop", "update", "copy", "setdefault"},
    set: {"add", "union", "discard", "copy"},
    tuple: {"index"},
}
SAFE_BUILTINS: dict[str, Callable[..., Any]] = {
    "list": list, "set": set, "dict": dict, "tuple": tuple, "sorted": sorted, "frozenset": set,
    "bool": bool, "int": int, "float": float, "str": str, "len": len, "min": min, "max": max,
}  # fmt: skip
MISSING = object()


@dataclass(frozen=True)
class Unresolved:
    """A value that this evaluator cannot have; `text` is its source."""

    text: str


@dataclass(eq=False)
class ClassRef:
    """A class of the source tree."""

    module: Module
    node: ast.ClassDef

    @property
    def name(self) -> str:
        return self.node.name


@dataclass(frozen=True)
class EnumMember:
    owner: str
    name: str
    value: Any


@dataclass(eq=False)
class FunctionRef:
    module: Module
    node: ast.FunctionDef | ast.Lambda
    owner: ClassRef | None = None


@dataclass(eq=False)
class TypeRef:
    """An expression that names a type: kept as syntax, with the module it was written in."""

    module: Module
    node: ast.expr


@dataclass(eq=False)
class Module:
    name: str
    tree: ast.Module
    bindings: dict[str, ast.stmt] = field(default_factory=dict)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for statement in _flat(self.tree.body):
            self._bind(statement)

    def _bind(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Import(names=names):
                for alias in names:
                    self.imports[alias.asname or alias.name.split(".")[0]] = (alias.name, None)
            case ast.ImportFrom(names=names):
                origin = self._absolute(statement)
                for alias in names:
                    self.imports.setdefault(alias.asname or alias.name, (origin, alias.name))
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                self.bindings[name] = statement
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                # A stand-in for type checkers (`if TYPE_CHECKING: X: str = ""`) comes first and stays.
                self.bindings.setdefault(name, statement)

    def _absolute(self, statement: ast.ImportFrom) -> str:
        if not statement.level:
            return statement.module or ""
        package = self.name.split(".")[: -statement.level]
        return ".".join([*package, *([statement.module] if statement.module else [])])


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Top-level statements, those inside `if` and `try` included."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If):
            yield from _flat(statement.body)
            yield from _flat(statement.orelse)
        elif isinstance(statement, ast.Try):
            yield from _flat(statement.body)
            for handler in statement.handlers:
                yield from _flat(handler.body)


Builtin = Callable[["Evaluator", list[Any], dict[str, Any], "Scope"], Any]


@dataclass
class Scope:
    """Where an expression is evaluated: its module and the local names."""

    module: Module
    names: dict[str, Any] = field(default_factory=dict)
    owner: ClassRef | None = None


class Evaluator:
    """Evaluates expressions and runs function bodies of one source tree.

    `builtins` maps a called name (`get_kwargs`) to what stands in for it.
    """

    def __init__(self, sources: Sources, builtins: Mapping[str, Builtin] | None = None) -> None:
        self.sources = sources
        self.builtins = dict(builtins or {})
        self.modules: dict[str, Module | None] = {}
        self.depth = 0

    # modules and names

    def module(self, name: str) -> Module | None:
        if name not in self.modules:
            path = name.replace(".", "/")
            text = self.sources.read(f"{path}.py")
            qualified = name
            if text is None:
                text = self.sources.read(f"{path}/__init__.py")
                qualified = f"{name}.__init__"
            self.modules[name] = None if text is None else Module(qualified, ast.parse(text))
        return self.modules[name]

    def lookup(self, name: str, scope: Scope) -> Any:
        if name in scope.names:
            return scope.names[name]
        return self.module_name(scope.module, name)

    def module_name(self, module: Module, name: str, *, seen: tuple[str, ...] = ()) -> Any:
        statement = module.bindings.get(name)
        if statement is not None:
            return self._bound(module, statement)
        if name in module.imports:
            origin, attribute = module.imports[name]
            if attribute is None:
                return self.module(origin) or Unresolved(origin)
            target = self.module(origin)
            if target is None:
                return Unresolved(f"{origin}.{attribute}")
            if f"{origin}.{attribute}" in seen:
                return Unresolved(name)
            found = self.module_name(target, attribute, seen=(*seen, f"{origin}.{attribute}"))
            if isinstance(found, Unresolved):
                return self.module(f"{origin}.{attribute}") or found
            return found
        return Unresolved(name)

    def _bound(self, module: Module, statement: ast.stmt) -> Any:
        match statement:
            case ast.ClassDef():
                return ClassRef(module, statement)
            case ast.FunctionDef():
                return FunctionRef(module, statement)
            case ast.Assign(value=value):
                return self._alias_or_value(module, value)
            case ast.AnnAssign(value=ast.expr() as value):
                return self._alias_or_value(module, value)
        return Unresolved(ast.unparse(statement)[:80])

    def _alias_or_value(self, module: Module, node: ast.expr) -> Any:
        if isinstance(node, ast.Subscript) or (
            isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)
        ):
            value = self.value(node, Scope(module))
            return TypeRef(module, node) if isinstance(value, Unresolved) else value
        return self.value(node, Scope(module))

    # classes

    def class_statement(self, owner: ClassRef, name: str) -> tuple[ClassRef, ast.stmt] | None:
        """The statement that binds `name` in `owner` or its bases, and the class it stands in."""
        for current in self.lineage(owner):
            for statement in current.node.body:
                match statement:
                    case ast.AnnAssign(target=ast.Name(id=found)) | ast.Assign(targets=[ast.Name(id=found)]):
                        if found == name:
                            return current, statement
                    case ast.FunctionDef(name=found):
                        if found == name:
                            return current, statement
        return None

    def lineage(self, owner: ClassRef) -> Iterator[ClassRef]:
        yield owner
        for base in owner.node.bases:
            parent = self.value(base, Scope(owner.module))
            if isinstance(parent, ClassRef):
                yield from self.lineage(parent)

    def is_enum(self, owner: ClassRef) -> bool:
        names = {ast.unparse(base).split(".")[-1] for c in self.lineage(owner) for base in c.node.bases}
        return bool(names & {"Enum", "IntEnum", "StrEnum", "BaseEnum"})

    def enum_members(self, owner: ClassRef) -> list[EnumMember]:
        members = []
        for statement in owner.node.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                name = statement.targets[0].id
                if name.startswith("_"):
                    continue
                value = self.value(statement.value, Scope(owner.module))
                if isinstance(statement.value, ast.Call) and ast.unparse(statement.value.func).endswith(
                    "auto"
                ):
                    value = name.lower()
                members.append(EnumMember(owner.name, name, value))
        return members

    def class_attribute(self, owner: ClassRef, name: str) -> Any:
        if self.is_enum(owner):
            for member in self.enum_members(owner):
                if member.name == name:
                    return member
        found = self.class_statement(owner, name)
        if found is None:
            return Unresolved(f"{owner.name}.{name}")
        current, statement = found
        if isinstance(statement, ast.FunctionDef):
            return FunctionRef(current.module, statement, current)
        node = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        if node is None:
            return Unresolved(f"{owner.name}.{name}")
        return self.field_default(node, Scope(current.module, {}, current))

    def fields(self, owner: ClassRef) -> dict[str, tuple[ClassRef, ast.AnnAssign]]:
        """Annotated fields, those of the bases first, as dataclasses and pydantic models order them."""
        found: dict[str, tuple[ClassRef, ast.AnnAssign]] = {}
        for current in reversed(list(self.lineage(owner))):
            for statement in current.node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    text = ast.unparse(statement.annotation)
                    if not text.startswith(("ClassVar", "InitVar", "typing.ClassVar")):
                        found[statement.target.id] = (current, statement)
        return found

    def field_default(self, node: ast.expr, scope: Scope) -> Any:
        """The value of `= ...` in a class body: `field(...)` and `Field(...)` give their default."""
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).split(".")[-1]
            if called in {"field", "Field", "get_field"} and called != "get_field":
                return self._declared(node, scope)
        return self.value(node, scope)

    def _declared(self, node: ast.Call, scope: Scope) -> Any:
        keywords = {k.arg: k.value for k in node.keywords if k.arg}
        if "default_factory" in keywords:
            return self.produced(keywords["default_factory"], scope)
        if "default" in keywords:
            return self.value(keywords["default"], scope)
        if node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and first.value is Ellipsis:
                return MISSING
            return self.value(first, scope)
        return MISSING

    def produced(self, factory: ast.expr, scope: Scope) -> Any:
        """What a `default_factory` makes."""
        if isinstance(factory, ast.Lambda):
            return self.value(factory.body, scope)
        if isinstance(factory, ast.Name) and factory.id in {"list", "dict", "set", "tuple"}:
            return SAFE_BUILTINS[factory.id]()
        target = self.value(factory, scope)
        if not isinstance(target, ClassRef):
            return Unresolved(ast.unparse(factory))
        bases = {ast.unparse(base).split("[")[0] for base in target.node.bases}
        return {} if "dict" in bases else target

    # expressions

    def value(self, node: ast.expr, scope: Scope) -> Any:
        """The value of `node`, or `Unresolved`."""
        self.depth += 1
        try:
            if self.depth > 200:
                return Unresolved("too deep")
            return self._value(node, scope)
        finally:
            self.depth -= 1

    def _value(self, node: ast.expr, scope: Scope) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self.lookup(name, scope)
            case ast.List(elts=items):
                return self._items(items, scope, list)
            case ast.Tuple(elts=items):
                return self._items(items, scope, tuple)
            case ast.Set(elts=items):
                return self._items(items, scope, set)
            case ast.Dict():
                return self._dict(node, scope)
            case ast.Attribute():
                return self._attribute(node, scope)
            case ast.Subscript():
                return self._subscript(node, scope)
            case ast.BinOp():
                return self._apply(BINARY.get(type(node.op)), node, scope, node.left, node.right)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._apply(operator.neg, node, scope, operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._apply(operator.not_, node, scope, operand)
            case ast.Compare(ops=[op], comparators=[right]):
                return self._apply(COMPARE.get(type(op)), node, scope, node.left, right)
            case ast.BoolOp():
                return self._bool(node, scope)
            case ast.IfExp():
                test = self.value(node.test, scope)
                if isinstance(test, Unresolved):
                    return Unresolved(ast.unparse(node))
                return self.value(node.body if test else node.orelse, scope)
            case ast.JoinedStr():
                return self._text(node, scope)
            case ast.Call():
                return self._call(node, scope)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return self._comprehension(node, scope)
            case ast.Lambda():
                return FunctionRef(scope.module, node)
        return Unresolved(ast.unparse(node)[:120])

    def _items(self, items: list[ast.expr], scope: Scope, kind: Callable[[list[Any]], Any]) -> Any:
        values: list[Any] = []
        for item in items:
            if isinstance(item, ast.Starred):
                inner = self.value(item.value, scope)
                if isinstance(inner, Unresolved) or not isinstance(inner, list | tuple | set):
                    return Unresolved(ast.unparse(item))
                values.extend(inner)
            else:
                values.append(self.value(item, scope))
        try:
            return kind(values)
        except TypeError:
            return Unresolved("unhashable item")

    def _dict(self, node: ast.Dict, scope: Scope) -> Any:
        result: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            if key is None:
                inner = self.value(item, scope)
                if not isinstance(inner, dict):
                    return Unresolved(ast.unparse(node)[:120])
                result.update(inner)
                continue
            name = self.value(key, scope)
            if isinstance(name, EnumMember):
                name = name.value
            if isinstance(name, Unresolved | list | dict):
                continue
            result[name] = self.value(item, scope)
        return result

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        owner = self.value(node.value, scope)
        match owner:
            case ClassRef():
                return self.class_attribute(owner, node.attr)
            case Module():
                return self.module_name(owner, node.attr)
            case EnumMember():
                return {"value": owner.value, "name": owner.name}.get(
                    node.attr, Unresolved(ast.unparse(node))
                )
        return Unresolved(ast.unparse(node))

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        owner = self.value(node.value, scope)
        key = self.value(node.slice, scope)
        if isinstance(owner, dict | list | tuple | str) and not isinstance(key, Unresolved):
            try:
                return owner[key]
            except (KeyError, IndexError, TypeError):
                return Unresolved(ast.unparse(node))
        return Unresolved(ast.unparse(node))

    def _apply(
        self, function: Callable[..., Any] | None, node: ast.expr, scope: Scope, *operands: ast.expr
    ) -> Any:
        values = [self.value(operand, scope) for operand in operands]
        if function is None or any(isinstance(v, Unresolved | TypeRef | ClassRef) for v in values):
            return Unresolved(ast.unparse(node)[:120])
        try:
            return function(*values)
        except (TypeError, ZeroDivisionError, ValueError):
            return Unresolved(ast.unparse(node)[:120])

    def _bool(self, node: ast.BoolOp, scope: Scope) -> Any:
        last: Any = None
        for item in node.values:
            last = self.value(item, scope)
            if isinstance(last, Unresolved):
                return Unresolved(ast.unparse(node)[:120])
            if bool(last) is isinstance(node.op, ast.Or):
                return last
        return last

    def _text(self, node: ast.JoinedStr, scope: Scope) -> Any:
        parts = []
        for part in node.values:
            value = self.value(part.value if isinstance(part, ast.FormattedValue) else part, scope)
            if isinstance(value, Unresolved):
                return Unresolved(ast.unparse(node)[:120])
            parts.append(str(value))
        return "".join(parts)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, scope: Scope) -> Any:
        generator = node.generators[0]
        source = self.value(generator.iter, scope)
        if isinstance(source, ClassRef) and self.is_enum(source):
            source = self.enum_members(source)
        if not isinstance(source, list | tuple | set | dict) or len(node.generators) != 1:
            return Unresolved(ast.unparse(node)[:120])
        results = []
        for item in source:
            inner = Scope(scope.module, dict(scope.names), scope.owner)
            if not _assign(generator.target, item, inner.names):
                return Unresolved(ast.unparse(node)[:120])
            tests = [self.value(test, inner) for test in generator.ifs]
            if any(isinstance(test, Unresolved) for test in tests):
                return Unresolved(ast.unparse(node)[:120])
            if all(tests):
                results.append(self.value(node.elt, inner))
        return set(results) if isinstance(node, ast.SetComp) else results

    # calls

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        name = ast.unparse(node.func)
        short = name.split(".")[-1]
        arguments = [self.value(a, scope) for a in node.args if not isinstance(a, ast.Starred)]
        for starred in (a for a in node.args if isinstance(a, ast.Starred)):
            more = self.value(starred.value, scope)
            arguments = [*(more if isinstance(more, list | tuple) else []), *arguments]
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, scope)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, dict):
                keywords.update(value)
        for known in (name, short):
            if known in self.builtins:
                return self.builtins[known](self, arguments, keywords, scope)
        if short == "get_args" and node.args:
            return self.literals(node.args[0], scope)
        if short == "get_field" and len(arguments) > 1 and isinstance(arguments[0], ClassRef):
            return self.class_attribute(arguments[0], arguments[1])
        if name in SAFE_BUILTINS:
            return self._builtin(name, arguments, keywords, node)
        if isinstance(node.func, ast.Attribute):
            return self._method(node.func, arguments, keywords, scope, node)
        target = self.value(node.func, scope)
        if isinstance(target, FunctionRef):
            return self.call(target, arguments, keywords)
        return Unresolved(ast.unparse(node)[:120])

    def _builtin(self, name: str, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        plain = [
            [m.name for m in self.enum_members(a)] if isinstance(a, ClassRef) and self.is_enum(a) else a
            for a in arguments
        ]
        if any(isinstance(a, Unresolved | ClassRef | TypeRef) for a in (*plain, *keywords.values())):
            return Unresolved(ast.unparse(node)[:120])
        try:
            return SAFE_BUILTINS[name](*plain, **{k: v for k, v in keywords.items() if name == "dict"})
        except (TypeError, ValueError):
            return Unresolved(ast.unparse(node)[:120])

    def _method(
        self,
        func: ast.Attribute,
        arguments: list[Any],
        keywords: dict[str, Any],
        scope: Scope,
        node: ast.Call,
    ) -> Any:
        if ast.unparse(func.value) == "super()" and scope.owner is not None:
            parents = list(self.lineage(scope.owner))[1:]
            for parent in parents:
                method = self.class_attribute(parent, func.attr)
                if isinstance(method, FunctionRef):
                    return self.call(method, [parent, *arguments], keywords)
        owner = self.value(func.value, scope)
        if isinstance(owner, ClassRef):
            method = self.class_attribute(owner, func.attr)
            if isinstance(method, FunctionRef):
                static = any(
                    ast.unparse(d) == "staticmethod" for d in getattr(method.node, "decorator_list", [])
                )
                return self.call(method, arguments if static else [owner, *arguments], keywords)
            return Unresolved(ast.unparse(node)[:120])
        if isinstance(owner, Module):
            function = self.module_name(owner, func.attr)
            if isinstance(function, FunctionRef):
                return self.call(function, arguments, keywords)
        if func.attr in SAFE_METHODS.get(type(owner), set()):
            if any(isinstance(a, Unresolved) for a in arguments) and func.attr not in {
                "append",
                "pop",
                "get",
            }:
                return Unresolved(ast.unparse(node)[:120])
            try:
                return getattr(owner, func.attr)(*arguments)
            except (KeyError, ValueError, TypeError, AttributeError):
                return Unresolved(ast.unparse(node)[:120])
        return Unresolved(ast.unparse(node)[:120])

    def call(self, function: FunctionRef, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Runs `function` and returns what it returns."""
        node = function.node
        scope = Scope(function.module, {}, function.owner)
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        defaults = node.args.defaults
        for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            scope.names[name] = self.value(default, scope)
        for argument, default_node in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            if default_node is not None:
                scope.names[argument.arg] = self.value(default_node, scope)
        scope.names.update(zip(names, arguments, strict=False))
        scope.names.update(keywords)
        if isinstance(node, ast.Lambda):
            return self.value(node.body, scope)
        self.depth += 1
        try:
            if self.depth > 200:
                return Unresolved(node.name)
            result = self.run(node.body, scope)
        finally:
            self.depth -= 1
        return None if result is MISSING else result

    # statements

    def run(self, body: list[ast.stmt], scope: Scope) -> Any:
        """Runs statements; what a `return` gives, else `MISSING`."""
        for statement in body:
            match statement:
                case ast.Expr(value=expression):
                    self.value(expression, scope)
                case ast.Assign(targets=targets, value=expression):
                    value = self.value(expression, scope)
                    for target in targets:
                        self._store(target, value, scope)
                case ast.AnnAssign(target=target, value=ast.expr() as expression):
                    self._store(target, self.value(expression, scope), scope)
                case ast.AugAssign(target=target, op=op, value=expression):
                    joined = ast.BinOp(left=_loaded(target), op=op, right=expression)
                    self._store(target, self.value(joined, scope), scope)
                case ast.Delete(targets=targets):
                    for target in targets:
                        self._delete(target, scope)
                case ast.If():
                    result = self._branch(statement, scope)
                    if result is not MISSING:
                        return result
                case ast.For():
                    self._loop(statement, scope)
                case ast.With(body=inner) | ast.Try(body=inner):
                    result = self.run(inner, scope)
                    if result is not MISSING:
                        return result
                case ast.ImportFrom(names=names):
                    for alias in names:
                        origin = self.module(scope.module._absolute(statement))
                        if origin is not None:
                            scope.names[alias.asname or alias.name] = self.module_name(origin, alias.name)
                case ast.FunctionDef(name=name):
                    scope.names[name] = FunctionRef(scope.module, statement)
                case ast.Return(value=expression):
                    return None if expression is None else self.value(expression, scope)
        return MISSING

    def _branch(self, statement: ast.If, scope: Scope) -> Any:
        test = self.value(statement.test, scope)
        if isinstance(test, Unresolved):
            # Which branch runs is not known here: see both, as both can be reached by a user.
            first = self.run(statement.body, scope)
            second = self.run(statement.orelse, scope)
            return second if first is MISSING else MISSING
        return self.run(statement.body if test else statement.orelse, scope)

    def _loop(self, statement: ast.For, scope: Scope) -> None:
        source = self.value(statement.iter, scope)
        if isinstance(source, list | tuple | set | dict) or type(source).__name__.startswith("dict_"):
            for item in list(source):
                _assign(statement.target, item, scope.names)
                self.run(statement.body, scope)

    def _store(self, target: ast.expr, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Subscript):
            owner = self.value(target.value, scope)
            key = self.value(target.slice, scope)
            if isinstance(owner, dict) and not isinstance(key, Unresolved):
                owner[key] = value
        else:
            _assign(target, value, scope.names)

    def _delete(self, target: ast.expr, scope: Scope) -> None:
        if isinstance(target, ast.Subscript):
            owner = self.value(target.value, scope)
            if isinstance(owner, dict):
                owner.pop(self.value(target.slice, scope), None)

    # types

    def literals(self, node: ast.expr, scope: Scope) -> Any:
        """The members of a `Literal`, also through aliases and unions."""
        hints = self.hints(node, scope)
        values = [v for hint in hints if hint[0] == "literal" for v in hint[1]]
        return tuple(values) if values else Unresolved(ast.unparse(node))

    def hints(self, node: ast.expr, scope: Scope) -> list[tuple[str, Any]]:
        """The alternatives of a type: `("int", None)`, `("literal", [..])`, `("class", ClassRef)`, ..."""
        match node:
            case ast.Constant(value=None):
                return [("none", None)]
            case ast.Constant(value=str() as text):
                try:
                    return self.hints(ast.parse(text, mode="eval").body, scope)
                except SyntaxError:
                    return [("other", text)]
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                return [*self.hints(left, scope), *self.hints(right, scope)]
            case ast.Subscript(value=head, slice=inner):
                return self._generic(ast.unparse(head).split(".")[-1], inner, scope, node)
            case ast.Name(id=name) if name in {"int", "float", "str", "bool", "object"}:
                return [(name, None)]
            case ast.Name(id=name) if name.lower() in {"list", "dict", "set", "tuple"}:
                return [(name.lower(), None)]
            case ast.Name() | ast.Attribute():
                target = self.value(node, scope)
                if isinstance(target, TypeRef):
                    return self.hints(target.node, Scope(target.module))
                if isinstance(target, ClassRef):
                    return [("class", target)]
                return [("other", ast.unparse(node))]
        return [("other", ast.unparse(node))]

    def _generic(self, head: str, inner: ast.expr, scope: Scope, node: ast.expr) -> list[tuple[str, Any]]:
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if head == "Optional":
            return [*self.hints(inner, scope), ("none", None)]
        if head == "Union":
            return [hint for part in parts for hint in self.hints(part, scope)]
        if head in {"Annotated", "A", "SkipValidation", "Required", "NotRequired"}:
            return self.hints(parts[0], scope)
        if head == "Literal":
            values: list[Any] = []
            for part in parts:
                if isinstance(part, ast.Name):
                    values.extend(v for h in self.hints(part, scope) if h[0] == "literal" for v in h[1])
                else:
                    values.append(self.value(part, scope))
            return [("literal", [v.value if isinstance(v, EnumMember) else v for v in values])]
        if head.lower() in {"list", "sequence", "iterable"}:
            return [("list", self.hints(parts[0], scope))]
        if head.lower() in {"dict", "mapping", "defaultdict"}:
            return [("dict", None)]
        if head.lower() in {"set", "frozenset"}:
            return [("set", self.hints(parts[0], scope))]
        if head.lower() == "tuple":
            return [("tuple", self.hints(parts[0], scope))]
        return [("other", ast.unparse(node))]


def _assign(target: ast.expr, value: Any, names: dict[str, Any]) -> bool:
    if isinstance(target, ast.Name):
        names[target.id] = value
        return True
    if isinstance(target, ast.Tuple) and isinstance(value, tuple | list):
        return all(_assign(t, v, names) for t, v in zip(target.elts, value, strict=False))
    return False


def _loaded(target: ast.expr) -> ast.expr:
    """The target of `x += ...` as an expression that can be evaluated."""
    return ast.parse(ast.unparse(target), mode="eval").body
