"""`dataclass`, `field` and `replace` of the standard library, without what they cost to import and to use.

- Type checkers see the real ones. At run time a plain class (fields with or without defaults, frozen or not,
  with slots) gets its methods from here; anything less plain is handed to `dataclasses`.
- Why: `dataclasses` imports `inspect`, `ast`, `dis` and `tokenize` (8 ms) and compiles six functions for each
  class (0.6 ms before Python 3.13). The hook meets fifty classes; that was a third of what it takes.
- What a class made here does is what the real one does: a test holds every class of the package to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
else:
    import sys
    from operator import attrgetter

    _MISSING = object()
    _OWN = ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__post_init__")
    _ORDER = ("__lt__", "__le__", "__gt__", "__ge__")
    _set = object.__setattr__

    class _Field:
        """What `field` was told, kept so that the real field can be made when it is asked for."""

        __slots__ = ("compare", "default", "factory", "repr", "told")

        def __init__(self, told):
            self.told = told
            self.default = told.get("default", _MISSING)
            self.factory = told.get("default_factory", _MISSING)
            self.repr = told.get("repr", True)
            self.compare = told.get("compare", True)

    def field(**told):
        """As `dataclasses.field`."""
        return _Field(told)

    def dataclass(cls=None, /, **options):
        """As `dataclasses.dataclass`."""
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        return _made(cls, options) if _is_plain(cls, options) else _real(cls, options)

    def replace(instance, /, **changes):
        """As `dataclasses.replace`."""
        names = getattr(type(instance), "__record__", None)
        if names is None:
            from dataclasses import replace as real

            return real(instance, **changes)
        for name in names:
            if name not in changes:
                changes[name] = getattr(instance, name)
        return type(instance)(**changes)

    def _notes(cls):
        """The annotations of `cls` itself, as text."""
        return vars(cls).get("__annotations__", {})

    def _is_plain(cls, options):
        own = cls.__dict__
        if cls.__bases__ != (object,) or not options.get("slots") or not set(options) <= _KNOWN:
            return False
        notes = _notes(cls)
        return (
            all(isinstance(note, str) and not note.lstrip().startswith(_SPECIAL) for note in notes.values())
            and not any(name in own for name in _OWN)
            and all(set(value.told) <= _TOLD for value in own.values() if isinstance(value, _Field))
        )

    _KNOWN = {"frozen", "slots", "kw_only", "order"}
    _TOLD = {"default", "default_factory", "repr", "compare"}
    _SPECIAL = ("ClassVar", "InitVar", "typing.", "dataclasses.", "KW_ONLY", "t.")

    def _made(cls, options):
        notes = _notes(cls)
        given = {name: _field_of(cls, name) for name in notes}
        names = tuple(given)
        frozen, kw_only = bool(options.get("frozen")), bool(options.get("kw_only"))
        body = {key: value for key, value in cls.__dict__.items() if key not in given}
        body.pop("__dict__", None)
        body.pop("__weakref__", None)
        body["__slots__"] = names
        body["__match_args__"] = () if kw_only else names
        body["__record__"] = names
        body["__init__"] = _init(cls, given, notes, frozen, kw_only)
        body["__repr__"] = _repr([name for name, one in given.items() if one.repr])
        compared = _values([name for name, one in given.items() if one.compare])
        body["__eq__"] = _eq(compared)
        body["__hash__"] = _hash(compared) if frozen else None
        if options.get("order"):
            body.update(zip(_ORDER, _orders(compared), strict=True))
        made = type(cls)(cls.__name__, cls.__bases__, body)
        made.__qualname__ = cls.__qualname__
        if frozen:
            _freeze(made, names)
        lazy = _Lazy(given, options)
        made.__dataclass_fields__ = lazy
        made.__dataclass_params__ = _LazyParams(lazy)
        return made

    def _field_of(cls, name):
        value = cls.__dict__.get(name, _MISSING)
        one = value if isinstance(value, _Field) else _Field({} if value is _MISSING else {"default": value})
        if one.default is not _MISSING and one.default.__class__.__hash__ is None:
            raise ValueError(f"mutable default {type(one.default)} for field {name} is not allowed")
        return one

    def _init(cls, given, notes, frozen, kw_only):
        space = {"_set": _set, "_MISSING": _MISSING}
        arguments, lines = ["self", "*"] if kw_only and given else ["self"], []
        for name, one in given.items():
            value = name
            if one.factory is not _MISSING:
                space[f"_make_{name}"] = one.factory
                arguments.append(f"{name}=_MISSING")
                value = f"_make_{name}() if {name} is _MISSING else {name}"
            elif one.default is not _MISSING:
                space[f"_dflt_{name}"] = one.default
                arguments.append(f"{name}=_dflt_{name}")
            else:
                arguments.append(name)
            lines.append(f"  _set(self, {name!r}, {value})" if frozen else f"  self.{name} = {value}")
        text = f"def make({', '.join(space)}):\n def __init__({', '.join(arguments)}):\n"
        text += "\n ".join(lines or ["  pass"]).replace("\n ", "\n") + "\n return __init__"
        found = {}
        exec(text, sys.modules[cls.__module__].__dict__, found)  # noqa: S102  as dataclasses does
        init = found["make"](**space)
        init.__qualname__ = f"{cls.__qualname__}.__init__"
        init.__annotations__ = {**notes, "return": "None"}
        return init

    def _values(names):
        """A function from an instance to the tuple of these fields."""
        if not names:
            return lambda _: ()
        get = attrgetter(*names)
        return get if len(names) > 1 else lambda self: (get(self),)

    def _repr(names):
        def __repr__(self):  # noqa: N807
            parts = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
            return f"{self.__class__.__qualname__}({parts})"

        return __repr__

    def _eq(values):
        def __eq__(self, other):  # noqa: N807
            if other.__class__ is self.__class__:
                return values(self) == values(other)
            return NotImplemented

        return __eq__

    def _hash(values):
        def __hash__(self):  # noqa: N807
            return hash(values(self))

        return __hash__

    def _orders(values):
        import operator

        def order(compare):
            def method(self, other):
                if other.__class__ is self.__class__:
                    return compare(values(self), values(other))
                return NotImplemented

            return method

        return [order(compare) for compare in (operator.lt, operator.le, operator.gt, operator.ge)]

    def _freeze(made, names):
        def refuse(name, what):
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot {what} field {name!r}")

        def __setattr__(self, name, value):  # noqa: N807
            if type(self) is made or name in names:
                refuse(name, "assign to")
            super(made, self).__setattr__(name, value)

        def __delattr__(self, name):  # noqa: N807
            if type(self) is made or name in names:
                refuse(name, "delete")
            super(made, self).__delattr__(name)

        def __getstate__(self):  # noqa: N807
            return [getattr(self, name) for name in names]

        def __setstate__(self, state):  # noqa: N807
            for name, value in zip(names, state, strict=True):
                _set(self, name, value)

        for method in (__setattr__, __delattr__, __getstate__, __setstate__):
            setattr(made, method.__name__, method)

    class _Lazy:
        """`__dataclass_fields__`, made by the real thing when somebody asks for it."""

        def __init__(self, given, options):
            self.given, self.options = given, options

        def twin(self, owner):
            """The same class as `dataclasses` would make it."""
            body = {"__annotations__": dict(owner.__annotations__), "__module__": owner.__module__}
            body["__doc__"] = owner.__doc__ or ""
            body |= {name: one for name, one in self.given.items() if one.told}
            return _real(type(owner.__name__, (), body), self.options)

        def __get__(self, instance, owner):
            found = self.twin(owner).__dataclass_fields__
            owner.__dataclass_fields__ = found
            return found

    class _LazyParams:
        """`__dataclass_params__`, likewise."""

        def __init__(self, lazy):
            self.lazy = lazy

        def __get__(self, instance, owner):
            found = self.lazy.twin(owner).__dataclass_params__
            owner.__dataclass_params__ = found
            return found

    def _real(cls, options):
        import dataclasses

        for name, value in list(cls.__dict__.items()):
            if isinstance(value, _Field):
                setattr(cls, name, dataclasses.field(**value.told))
        return dataclasses.dataclass(cls, **options)
