"""The nouns of the command line, from Python: load a service, fingerprint it, verify a running server.

    from governance import fingerprint_of, load_service, verify

    service = load_service("summarizer")
    print(fingerprint_of(service).fold())
    assert verify("summarizer", "http://127.0.0.1:8080/v1").outcome.value == "pass"

- Each is the same use case as its command; nothing is printed and nothing exits.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from governance.fingerprint.services import fingerprint_of

__all__ = ["fingerprint_of", "load_service", "verify"]

if TYPE_CHECKING:
    from governance.tiers.config import Service
    from governance.verdict import Report


def load_service(name: str, root: str | Path = ".", *, at: str = "") -> Service:
    """The service `name` of the governed repository at `root`, from the work tree or at the revision `at`.

    Raises `Usage` when there is none of that name, `Unreadable` when one of its configs does not load.
    """
    from governance.errors import Unreadable, Usage
    from governance.release.sides import Place

    state = Place(root).state(at or "worktree")
    service = state.service(name)
    if service is None:
        there = ", ".join(state.bindings()) or "none"
        raise Usage(f"there is no service `{name}` in the {state.label}", hint=f"there are: {there}")
    if not (service.base and service.sampling and service.prompts):
        fault = next(iter(state.findings), None)
        told = f": {fault.path}:{fault.line}: {fault.message}" if fault else ""
        raise Unreadable(f"a config of `{name}` does not load{told}", hint="tierlock check")
    return service


def verify(name: str, url: str, root: str | Path = ".") -> Report:
    """The service `name` beside the server at `url`: pass when they agree, block when they differ.

    Raises `Usage` for an unknown service, `Unreachable` when the server does not answer.
    """
    from governance.release.diff import compare
    from governance.release.sides import Place, parse_side

    place = Place(root)
    sides = parse_side(f"{name}@worktree", place), parse_side(url, place)
    return compare(*sides, fail_on_difference=True)
