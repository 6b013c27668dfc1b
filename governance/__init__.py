"""tierlock: configuration-as-code governance for LLM inference services."""

__version__ = "0.1.0"
