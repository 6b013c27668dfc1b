"""A key as a FIDO token has it, in software, and an agent that holds it: an `sk-` key to ssh-keygen."""

from __future__ import annotations

import base64
import hashlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support import ed25519

_KIND = b"sk-ssh-ed25519@openssh.com"
_APPLICATION = b"ssh:"
_TOUCHED = 1


def _field(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


class HardwareKey:
    """One token. `public` is its line for a policy, `sign` what touching it yields."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self.blob = _field(_KIND) + _field(ed25519.public_key(seed)) + _field(_APPLICATION)
        self.public = f"{_KIND.decode()} {base64.b64encode(self.blob).decode()}"

    def sign(self, data: bytes) -> bytes:
        """The SSH signature of `data`: over the hashes of application and message, a flag and a counter."""
        tail = bytes([_TOUCHED]) + (7).to_bytes(4, "big")
        signed = hashlib.sha256(_APPLICATION).digest() + tail + hashlib.sha256(data).digest()
        return _field(_KIND) + _field(ed25519.sign(self._seed, signed)) + tail


@contextmanager
def agent_of(key: HardwareKey, folder: Path) -> Iterator[str]:
    """The socket of an agent that holds `key` (the agent protocol: list identities, sign)."""
    path = folder / "agent.sock"
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    thread = threading.Thread(target=_serve, args=(server, key), daemon=True)
    thread.start()
    try:
        yield str(path)
    finally:
        with socket.socket(socket.AF_UNIX) as knock:
            knock.connect(str(path))
            knock.sendall(_field(b"\0"))
        thread.join(5)
        server.close()


def _serve(server: socket.socket, key: HardwareKey) -> None:
    while True:
        peer, _ = server.accept()
        with peer, peer.makefile("rwb") as stream:
            while head := stream.read(4):
                message = stream.read(int.from_bytes(head, "big"))
                if message == b"\0":
                    return
                stream.write(_field(_answer(message, key)))
                stream.flush()


def _answer(message: bytes, key: HardwareKey) -> bytes:
    if message[0] == 11:
        return b"\x0c" + (1).to_bytes(4, "big") + _field(key.blob) + _field(b"token")
    if message[0] == 13:
        size = int.from_bytes(message[1:5], "big")
        at = 5 + size
        data = message[at + 4 : at + 4 + int.from_bytes(message[at : at + 4], "big")]
        return b"\x0e" + _field(key.sign(data))
    return b"\x05"
