"""Where the requests of a service go, and with which headers: the one place that resolves their secrets.

- A secret is a reference (`env:NAME`) in the config; its value is looked up when it is sent, and never shown.
- Pure: the environment is handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from governance.adapters.completions import TIMEOUT
from governance.engines.keys import look
from governance.errors import Unreadable, Usage
from governance.records import dataclass, field

if TYPE_CHECKING:
    from governance.tiers.config import Service

CONCURRENCY: Final = 8


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go. `headers` may hold a key: they are sent and never shown."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = TIMEOUT
    concurrency: int = CONCURRENCY


def endpoint_of(service: Service, environ: Mapping[str, str], *, url: str = "") -> Endpoint:
    """The endpoint of `service`, or the same one at another `url`; secrets are taken from `environ`.

    Raises `Usage` when no address is known, `Unreadable` when a variable that a secret refers to is not set.
    """
    told = look(service.tree, "endpoint.url")
    address = url or (told if isinstance(told, str) else "")
    if not address:
        raise Usage(
            f"service `{service.name}` names no endpoint",
            hint="add `endpoint: {url: …}` to tierlock.yaml, or name another address",
        )
    given = look(service.tree, "endpoint.headers")
    pairs = given.items() if isinstance(given, Mapping) else ()
    headers = {name: _secret(str(value), environ) for name, value in pairs}
    key = look(service.tree, "endpoint.api_key")
    if isinstance(key, str):
        headers["Authorization"] = f"Bearer {_secret(key, environ)}"
    timeout = look(service.tree, "endpoint.timeout_s")
    concurrency = look(service.tree, "endpoint.concurrency")
    return Endpoint(
        address.rstrip("/"),
        headers,
        float(timeout) if isinstance(timeout, int | float) else TIMEOUT,
        concurrency if isinstance(concurrency, int) else CONCURRENCY,
    )


def _secret(text: str, environ: Mapping[str, str]) -> str:
    """`env:NAME` as what the variable holds; any other text as it is."""
    if not text.startswith("env:"):
        return text
    name = text.removeprefix("env:")
    value = environ.get(name)
    if not value:
        raise Unreadable(
            f"the variable `{name}`, which the endpoint's secret refers to, is not set",
            hint=f"export {name}=…",
        )
    return value
