"""One forge's REST API: pages put together, every refusal told with its remedy, no token ever shown.

- The token comes from the environment alone, is sent to the host that was named and to no other (nothing is
  redirected), and stands in no message.
- A page that cannot be had is an error, never the end of the list: half of it could hide a dismissal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from governance.adapters.http import Client
from governance.errors import Unreachable
from governance.values import Json

PER_PAGE: Final = 100
MAX_PAGES: Final = 50
TIMEOUT: Final = 15.0


@dataclass(frozen=True)
class Api:
    """The API at `url`. `variable` is the name of the environment variable that holds the token."""

    name: str
    url: str
    variable: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def get(self, path: str) -> Json:
        """The JSON at `path`. Raises `Unreachable` for anything but a whole answer."""
        try:
            with Client(self.url, self.headers, TIMEOUT) as client:
                answer = client.request("GET", path)
        except Unreachable as err:
            raise Unreachable(
                f"{self.name} did not answer: {err.message}",
                where=err.where,
                hint="try again; is the address right?",
            ) from err
        if answer.status != 200:
            raise self._refused(answer.status, path)
        try:
            found: Json = json.loads(answer.body)
        except ValueError as err:
            raise Unreachable(
                f"{self.name} answered GET {path} with something that is no JSON", where=self.url,
                hint="is this the address of its API?",
            ) from err  # fmt: skip
        return found

    def pages(self, path: str, *, page: str = "page", size: str = "per_page") -> list[Json]:
        """All entries of a list, page by page."""
        found: list[Json] = []
        mark = "&" if "?" in path else "?"
        for number in range(1, MAX_PAGES + 1):
            entries = self.get(f"{path}{mark}{size}={PER_PAGE}&{page}={number}")
            if not isinstance(entries, list):
                raise Unreachable(f"{self.name} answered GET {path} with no list", where=self.url)
            found += entries
            if len(entries) < PER_PAGE:
                return found
        raise Unreachable(
            f"{self.name} has more than {MAX_PAGES * PER_PAGE} entries at {path}", where=self.url
        )

    def _refused(self, status: int, path: str) -> Unreachable:
        hint = "try again later"
        if status in (401, 403, 404):
            hint = f"set {self.variable} to a token that may read it"
        elif 300 <= status < 400:
            hint = "it has moved: name its new address"
        return Unreachable(f"{self.name} answered GET {path} with HTTP {status}", where=self.url, hint=hint)
