"""One actor at a time: while a release is cut nobody rolls the service back here, and the other way round.

- The lock is that of the rollback: both decide which release is the next one and move what is committed.
- A rollback that was broken off comes first: what HEAD is then is half of it.
- Held in this clone alone. Two clones meet at the server, where one of two pushes is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from governance.adapters.locks import held
from governance.errors import Unreadable
from governance.release import journal
from governance.release.deploy.target import state_folder
from governance.release.sides import Place

WAIT_S: Final = 10.0
"""A cut takes a second or two; a rollback is told after this."""


@contextmanager
def alone(place: Place, service: str, *, who: str, wait_s: float = WAIT_S) -> Iterator[None]:
    """A block in which nobody else in this clone releases `service` or rolls it back.

    Raises `Unreadable` when somebody does and goes on doing so, or when a rollback is unfinished.
    """

    def busy(holder: str) -> Unreadable:
        told = holder or "somebody else"
        return Unreadable(
            f"`{service}` is being released or rolled back: {told}", hint="wait for it, and call again"
        )

    folder = state_folder(place, service)
    with held(folder / journal.LOCK, who=who, busy=busy, wait_s=wait_s):
        if (open_ := journal.read(folder)) is not None:
            raise Unreadable(
                f"a rollback of `{service}` to {open_.target} is unfinished: {open_.told}",
                hint=f"tierlock rollback {service}",
            )
        yield
