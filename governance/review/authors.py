"""Who made a change: authors, committers, co-authors and signers, as the people of the policy.

- Read from raw commits: `author`, `committer`, every `Co-authored-by` line of the message, and the SSH key
  of the signature, which names a person even under another address. Nothing is verified here: a name that
  is claimed wrongly only takes the right to approve away.
- An address that belongs to nobody in the policy is kept as unknown and told.
- Pure.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final

from governance.review.model import Authors, Identity, Transition
from governance.review.policy import Policy

_IDENT: Final = re.compile(rb"^(.*?) ?<([^<>\n]*)>")
_CO_AUTHOR: Final = re.compile(rb"^co-authored-by[ \t]*:[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE)
_ARMOUR: Final = re.compile(rb"-----BEGIN SSH SIGNATURE-----(.*?)-----END SSH SIGNATURE-----", re.DOTALL)
NOBODY: Final = frozenset({"noreply@github.com"})
"""Committers that are forges: a merge button presses no opinion."""


def identities(raw: bytes) -> tuple[Identity, ...]:
    """Everybody a raw commit names, each once."""
    head, _, message = raw.partition(b"\n\n")
    key = signing_key(head)
    found = []
    for role in (b"author", b"committer"):
        line = next((each for each in head.split(b"\n") if each.startswith(role + b" ")), b"")
        if (one := _identity(line[len(role) + 1 :], role.decode(), key)) is not None:
            found.append(one)
    lines = _CO_AUTHOR.findall(message.replace(b"\r", b""))
    co_authors = [_identity(line.strip(), "co-author", "") for line in lines]
    return tuple(dict.fromkeys((*found, *(one for one in co_authors if one is not None))))


def ident(text: str, role: str) -> Identity | None:
    """What `git var GIT_AUTHOR_IDENT` says, as an identity."""
    return _identity(text.encode("utf-8", "surrogateescape"), role, "")


def authors(policy: Policy, who: Iterable[Identity]) -> Authors:
    """The people of `policy` among `who`, and the addresses that are nobody's."""
    people: set[str] = set()
    unknown: set[str] = set()
    for one in who:
        by_key = policy.person_of_key(one.key) if one.key else None
        by_email = policy.person_of_email(one.email)
        people |= {name for name in (by_key, by_email) if name is not None}
        if by_email is None and by_key is None and one.email.lower() not in NOBODY:
            unknown.add(one.email)
    return Authors(frozenset(people), frozenset(unknown))


def authors_of(policy: Policy, transition: Transition, by_path: Mapping[str, Iterable[Identity]]) -> Authors:
    """Who moved one transition: everybody who touched one of its paths."""
    return authors(policy, [one for path in transition.paths for one in by_path.get(path, ())])


def signing_key(head: bytes) -> str:
    """The fingerprint of the SSH key in the signature of a commit's head; empty when there is none.

    An SSHSIG holds the public key: magic, version, then the key as one length-prefixed string.
    """
    match = _ARMOUR.search(head)
    if match is None:
        return ""
    try:
        blob = base64.b64decode(b"".join(match[1].split()), validate=True)
    except (binascii.Error, ValueError):
        return ""
    size = int.from_bytes(blob[10:14], "big")
    key = blob[14 : 14 + size]
    if blob[:6] != b"SSHSIG" or not key or len(key) != size:
        return ""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def _identity(line: bytes, role: str, key: str) -> Identity | None:
    match = _IDENT.match(line)
    if match is None:
        return None
    name, email = (part.decode("utf-8", "replace").strip() for part in match.groups())
    return Identity(name, email, role, key)
