"""Whether the tag of a pinned image still stands for the digest beside it.

- Asked of the registry at most every quarter of an hour: public registries count requests.
- A registry that does not answer says nothing about this server: it is no doubt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from governance.errors import TierlockError
from governance.fingerprint.capture import Wanted, take
from governance.fingerprint.image import Image, parse_reference
from governance.monitor.mismatch import Concerns, Seen, differing
from governance.values import Unknown
from governance.verdict import Change

EVERY: Final = 900.0
Ask = Callable[[str], "str | Unknown"]
"""An image reference to the digest its tag has now."""


class Tag:
    """The tag of one image reference, asked now and then."""

    def __init__(self, reference: str, ask: Ask | None = None) -> None:
        self._reference = reference
        self._ask = ask or registry
        self._asked: float | None = None
        self._seen = Seen()

    def look(self, now: float) -> Seen:
        """What was last known of it, asked again when that is long ago."""
        if self._reference and (self._asked is None or now - self._asked >= EVERY):
            self._asked = now
            self._seen = self._look(self._seen)
        return self._seen

    def _look(self, before: Seen) -> Seen:
        pinned = parse_reference(self._reference)
        if not pinned.digest or not pinned.tag:
            return Seen()
        found = self._ask(self._reference)
        if isinstance(found, Unknown) or not found:
            return before
        if found == pinned.digest:
            return Seen()
        where = f"registry {pinned.host}"
        change = Change("image", f"tag {pinned.tag}", pinned.digest, found, "release", where,
                        effect="another image for whoever starts by the tag")  # fmt: skip
        return differing("TL809", (change,), concerns=Concerns.NEXT_START)


def registry(reference: str) -> str | Unknown:
    """What the registry says the tag stands for now."""
    try:
        found = take(("image",), Wanted(image=reference), generated_at="", tool="").image
    except TierlockError as err:
        return Unknown(err.message)
    return found.tag_digest if isinstance(found, Image) else Unknown("the registry did not tell")
