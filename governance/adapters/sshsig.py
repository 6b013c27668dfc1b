"""SSH keys and SSHSIG signatures as bytes: taken apart and held to one spelling. Pure; no cryptography.

- An SSHSIG is `SSHSIG`, version, public key, namespace, reserved, hash algorithm, signature (OpenSSH,
  PROTOCOL.sshsig). ssh-keygen reads more than it writes (version 0, a filled `reserved`, any line width);
  here only what it writes is taken, so a signature has one form and no byte of it is free.
- Whether the signature is right is not said here: `ssh.py` asks ssh-keygen.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import Final, NamedTuple

_BEGIN: Final = "-----BEGIN SSH SIGNATURE-----"
_END: Final = "-----END SSH SIGNATURE-----"
_WIDTH: Final = 70
_MAGIC: Final = b"SSHSIG"
_HASHES: Final = ("sha256", "sha512")
_KEY_LINE: Final = re.compile(
    r"((?:sk-)?(?:ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521))(?:@openssh\.com)?) ([A-Za-z0-9+/]+=*)"
)


class SshSignature(NamedTuple):
    """What one armoured signature says: the fingerprint of the key it is of, namespace and hash."""

    key: str
    blob: bytes
    namespace: str
    hash: str


def fingerprint_of_blob(blob: bytes) -> str:
    """`SHA256:…` of a public key's bytes, as ssh-keygen shows it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def key_blob(public_key: str) -> bytes | None:
    """The bytes of the key in a `.pub` line; None when it is none whose type is known."""
    match = _KEY_LINE.match(public_key.strip())
    if match is None:
        return None
    blob = _decoded(match[2])
    if blob is None:
        return None
    reader = _Reader(blob)
    kind = reader.text()
    return blob if kind == match[1].encode() else None


def key_words(public_key: str) -> str | None:
    """Type and key of a `.pub` line without its comment: safe in a file of allowed signers. None as above."""
    match = _KEY_LINE.match(public_key.strip())
    return None if match is None or key_blob(public_key) is None else f"{match[1]} {match[2]}"


def parse(armoured: str) -> SshSignature | None:
    """The parts of a signature exactly as ssh-keygen writes it; None for anything else."""
    lines = armoured.split("\n")
    if len(lines) < 4 or lines[0] != _BEGIN or lines[-2:] != [_END, ""]:
        return None
    blob = _decoded("".join(lines[1:-2]))
    if blob is None or armour(blob) != armoured:
        return None
    reader = _Reader(blob)
    head, version = reader.take(len(_MAGIC)), reader.take(4)
    key, namespace, reserved, hashing, signature = (reader.text() for _ in range(5))
    whole = reader.at == len(blob) and head == _MAGIC and version == (1).to_bytes(4, "big")
    if not whole or not key or not namespace or not signature or reserved != b"" or hashing is None:
        return None
    try:
        names = namespace.decode("ascii"), hashing.decode("ascii")
    except UnicodeDecodeError:
        return None
    return SshSignature(fingerprint_of_blob(key), key, *names) if names[1] in _HASHES else None


def armour(blob: bytes) -> str:
    """The text form of a signature: base64 in lines of 70 between the two marks."""
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH)]
    return "\n".join([_BEGIN, *lines, _END, ""])


class _Reader:
    """Length-prefixed fields, one after the other; None once the bytes end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes | None:
        if self.at + size > len(self.data):
            self.at = len(self.data) + 1
            return None
        self.at += size
        return self.data[self.at - size : self.at]

    def text(self) -> bytes | None:
        size = self.take(4)
        return None if size is None else self.take(int.from_bytes(size, "big"))


def _decoded(text: str) -> bytes | None:
    """Base64 in its one spelling: no blanks, right padding, no spare bits."""
    try:
        blob = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return blob if base64.b64encode(blob).decode() == text else None
