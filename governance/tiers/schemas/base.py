"""The base tier: model, precision, engine, launch, image, hardware, environment."""

from __future__ import annotations

from typing import Annotated, Literal

from governance.tiers.schemas.engine import Engine
from governance.tiers.schemas.field import NONE, Closed, Line, Spec, Text, absent
from governance.tiers.schemas.host import Environment, Hardware, Image
from governance.tiers.schemas.model import Model
from governance.tiers.schemas.precision import Precision


class Base(Closed):
    """What runs, where, and started how."""

    kind: Annotated[Literal["base"], Spec("names the tier; must be that of the folder", NONE)]
    description: Annotated[Text, Spec("a note for people", NONE)] = absent()
    model: Annotated[Model, Spec("what is loaded")]
    precision: Annotated[Precision, Spec("number formats")] = absent()
    engine: Annotated[Engine, Spec("which engine, and how it is started")]
    image: Annotated[Image, Spec("the container image")] = absent()
    hardware: Annotated[Hardware, Spec("the class of machine")] = absent()
    environment: Annotated[
        Environment, Spec("packages and variables of the serving process", also=("env",))
    ] = absent()
    reason: Annotated[Line, Spec("why the values are as they are", NONE)] = absent()
