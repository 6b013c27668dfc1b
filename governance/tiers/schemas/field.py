"""The vocabulary of the schemas: what every field says about itself, and the value types they share.

- Every field of every tier carries a `Spec`: unit, effect on the output, one line of reason. Documentation,
  risk texts, the JSON Schemas for editors and the error messages come from it.
- Models are closed, strict and frozen: no unknown key, no conversion of types, no default filled in.
- A key that is not set is not there. Null never validates; `absent()` marks a key that may be left out.
- Nothing here runs Python during validation: cross-field checks are rules, so that the compiled schema can
  carry everything the models say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeAliasType

from governance.tiers.schemas import forms
from governance.values import Effect

OUTPUT = Effect.OUTPUT
LATENCY = Effect.LATENCY
NONE = Effect.NONE


@dataclass(frozen=True, slots=True)
class Spec:
    """What a field says about itself.

    `reason` is one line: what the value does to answers. `unit` is empty for a bare number or a name.
    `also` lists what other tools call the same thing; the messages use it for "did you mean".
    `unordered` says that a list is a set: its order carries no meaning and is not kept.
    """

    reason: str
    effect: Effect = OUTPUT
    unit: str = ""
    also: tuple[str, ...] = ()
    example: object = None
    unordered: bool = False


class Closed(BaseModel):
    """Base of every schema model: unknown keys refused, types exact, values frozen."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, protected_namespaces=())


def absent() -> Any:
    """The mark of a key that may be left out. It is no default: an absent key stays absent in the tree."""
    return Field(default=None)


# RFC 8785 numbers are IEEE doubles: beyond 2^53 two integers share one canonical form.
SAFE = 2**53 - 1

Inherit: TypeAlias = Literal["inherit"]
Real = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
AboveZero = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Penalty = Annotated[float, Field(ge=-2, le=2, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=SAFE)]
Positive = Annotated[int, Field(ge=1, le=SAFE)]
OrUnlimited = Annotated[int, Field(ge=-1, le=SAFE)]
SafeInteger = Annotated[int, Field(ge=-SAFE, le=SAFE)]
TokenId = Annotated[int, Field(ge=0, le=2**31 - 1)]

Text = Annotated[str, Field(min_length=1)]
Line = Annotated[str, Field(pattern=forms.LINE.pattern, max_length=2000)]
Word = Annotated[str, Field(pattern=forms.WORD.pattern, max_length=128)]
Name = Annotated[str, Field(pattern=forms.NAME.pattern, max_length=100)]
Identifier = Annotated[str, Field(pattern=forms.IDENTIFIER.pattern, max_length=100)]
Digest = Annotated[str, Field(pattern=forms.DIGEST.pattern)]
Date = Annotated[str, Field(pattern=forms.DATE.pattern)]
Version = Annotated[str, Field(pattern=forms.VERSION.pattern, max_length=64)]
VersionRange = Annotated[str, Field(pattern=forms.VERSION_RANGE.pattern, max_length=200)]
EnvironmentName = Annotated[str, Field(pattern=forms.VARIABLE.pattern, max_length=200)]
SecretReference = Annotated[str, Field(pattern=forms.SECRET.pattern, max_length=204)]
RelativePath = Annotated[str, Field(min_length=1, max_length=400)]

JsonValue = TypeAliasType(
    "JsonValue",
    Annotated[
        "bool | SafeInteger | Real | str | list[JsonValue] | dict[str, JsonValue]",
        Field(union_mode="left_to_right"),
    ],
)


class FileReference(Closed):
    """A file in the config's own folder, read byte for byte."""

    file: Annotated[
        RelativePath,
        Spec("the content of the file enters the fingerprint byte for byte", example="system.md"),
    ]
