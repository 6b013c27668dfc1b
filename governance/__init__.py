"""tierlock: configuration-as-code governance for LLM inference services."""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["__version__", "fingerprint_of", "load_service", "verify"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from governance.api import fingerprint_of, load_service, verify


def __getattr__(name: str) -> object:
    """The library's nouns, imported when they are asked for: the hook pays for none of them."""
    if name in __all__:
        from governance import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
