"""Whether a text holds a secret: which kind, and where. The secret itself never leaves this module.

- Tokens with a known shape (hub, cloud, forge, chat and model services, private keys, URLs with a password)
  are found wherever they stand.
- Beside a telling name (`password =`, `api_key:`) any value counts that is long and random enough; examples
  and placeholders (`changeme`, `<your-key>`, `env:NAME`) do not.
- The first look is one search for the beginnings of tokens and for telling names, so that a clean file costs
  some microseconds.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from governance.records import dataclass
from governance.tiers.compiled import searcher


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret was found: what kind it is and the span of the text it takes. It does not hold the secret."""

    kind: str
    start: int
    end: int


_SHAPES: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    ("private key", ("-----BEGIN ",), r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"),
    ("Hugging Face token", ("hf_", "api_org_"), r"\b(?:hf|api_org)_[A-Za-z0-9]{30,}\b"),
    (
        "OpenAI-style key",
        ("sk-",),
        r"\bsk-(?:proj-|svcacct-|admin-|ant-[a-z0-9]+-|or-v1-|lf-)?[A-Za-z0-9_-]{20,}\b",
    ),
    (
        "GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})\b",
    ),
    (
        "GitLab token",
        ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-"),
        r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-[A-Za-z0-9_-]{20,}\b",
    ),
    ("AWS access key", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("Google API key", ("AIza",), r"\bAIza[A-Za-z0-9_-]{35}\b"),
    ("Google OAuth token", ("ya29.",), r"\bya29\.[A-Za-z0-9_-]{30,}"),
    ("Slack token", ("xox",), r"\bxox[abeoprs]-[A-Za-z0-9-]{16,}"),
    ("Slack webhook", ("hooks.slack",), r"hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{20,}"),
    ("Stripe key", ("k_live_",), r"\b[sr]k_live_[A-Za-z0-9]{20,}\b"),
    ("package index token", ("pypi-",), r"\bpypi-[A-Za-z0-9_-]{50,}"),
    ("npm token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("Groq key", ("gsk_",), r"\bgsk_[A-Za-z0-9]{40,}\b"),
    ("Replicate token", ("r8_",), r"\br8_[A-Za-z0-9]{30,}\b"),
    ("NVIDIA API key", ("nvapi-",), r"\bnvapi-[A-Za-z0-9_-]{40,}"),
    ("JSON web token", ("eyJ",), r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    ("password in a URL", ("://",), r"\b[a-z][a-z0-9+.-]*://[^\s/:@\"'{}<>]+:(?P<value>[^\s/@\"'{}<>]{4,})@"),
    ("bearer token", ("earer ",), r"\b[Bb]earer\s+(?P<value>[A-Za-z0-9._~+/-]{20,}=*)"),
)
_COMPILED: Final[dict[str, re.Pattern[str]]] = {}
_NAMES: Final = (
    "passw", "secret", "apikey", "api_key", "api-key", "access_key", "access-key", "private_key",
    "private-key", "auth_token", "auth-token", "access_token", "access-token", "api_token", "api-token",
)  # fmt: skip
_NAMED: Final = (
    r"(?i)(?<![A-Za-z0-9])(?P<name>[a-z0-9_.-]{0,40}?(?:password|passwd|secret|api[_-]?key|access[_-]?key"
    r"|private[_-]?key"
    r"|auth[_-]?token|access[_-]?token|api[_-]?token))(?![a-z0-9])\\?[\"']?\s*(?:[:=]|\bis\b)\s*\\?[\"'`]?"
    r"(?P<value>[^\s\\\"'`,;)}\]]{8,})"
)
_PLACEHOLDER: Final = re.compile(
    r"(?i)^(?:env:|\$|\{|<|%|\*+$|x{4,}|\.{3})|example|placeholder|change[_-]?me|your[_-]|redacted|dummy"
    r"|sample"
)


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Every secret in `text` by position; the spans are offsets in `text`."""
    if not _may_hold_one()(text):
        return ()
    found: list[Secret] = []
    for kind, needles, pattern in _SHAPES:
        if any(map(text.__contains__, needles)):
            found += _matches(kind, pattern, text, entropy=0.0)
    if any(map(text.lower().__contains__, _NAMES)):
        found += _matches("secret beside its name", _NAMED, text, entropy=2.8)
    return _without_overlaps(found) if found else ()


@lru_cache(maxsize=1)
def _may_hold_one() -> Callable[[str], bool]:
    """Whether a text has the beginning of a token or a name that tells of a secret, found in one search."""
    begins = "|".join(re.escape(needle) for _, needles, _ in _SHAPES for needle in needles)
    return searcher(f"{begins}|(?i:{'|'.join(map(re.escape, _NAMES))})")


def redact(text: str) -> str:
    """`text` with every secret replaced by its kind in angle brackets."""
    parts: list[str] = []
    last = 0
    for secret in find_secrets(text):
        parts += [text[last : secret.start], f"<{secret.kind}>"]
        last = secret.end
    return "".join(parts) + text[last:]


def entropy(text: str) -> float:
    """The Shannon entropy of the characters of `text`, in bits per character."""
    total = len(text)
    return -sum(n / total * math.log2(n / total) for n in Counter(text).values()) if total else 0.0


def _matches(kind: str, pattern: str, text: str, *, entropy: float) -> list[Secret]:
    compiled = _COMPILED.get(pattern)
    if compiled is None:
        compiled = _COMPILED[pattern] = re.compile(pattern)
    group = "value" if "value" in compiled.groupindex else 0
    return [
        Secret(kind, match.start(group), match.end(group))
        for match in compiled.finditer(text)
        if _is_random(match[group], entropy)
    ]


def _is_random(value: str, wanted: float) -> bool:
    if _PLACEHOLDER.search(value):
        return False
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return wanted == 0.0 or (mixed and entropy(value) >= wanted)


def _without_overlaps(found: list[Secret]) -> tuple[Secret, ...]:
    kept: list[Secret] = []
    for secret in sorted(found, key=lambda s: (s.start, -s.end)):
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
    return tuple(kept)
