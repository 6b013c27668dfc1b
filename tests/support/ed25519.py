"""Ed25519 in software (RFC 8032, the reference algorithm), to stand in for a hardware key in tests."""

from __future__ import annotations

import hashlib

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_I = pow(2, (_P - 1) // 4, _P)
Point = tuple[int, int]


def public_key(seed: bytes) -> bytes:
    """The public key of a 32-byte seed."""
    return _encoded(_times(_BASE, _secret(seed)[0]))


def sign(seed: bytes, message: bytes) -> bytes:
    """The signature of `message`."""
    scalar, prefix = _secret(seed)
    public = public_key(seed)
    nonce = int.from_bytes(hashlib.sha512(prefix + message).digest(), "little") % _L
    commitment = _encoded(_times(_BASE, nonce))
    challenge = int.from_bytes(hashlib.sha512(commitment + public + message).digest(), "little")
    return commitment + ((nonce + challenge * scalar) % _L).to_bytes(32, "little")


def _secret(seed: bytes) -> tuple[int, bytes]:
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little")
    return scalar & ((1 << 254) - 8) | (1 << 254), digest[32:]


def _x_of(y: int) -> int:
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _I % _P
    return _P - x if x % 2 else x


def _add(one: Point, other: Point) -> Point:
    (x1, y1), (x2, y2) = one, other
    product = _D * x1 * x2 * y1 * y2
    return (
        (x1 * y2 + x2 * y1) * pow(1 + product, -1, _P) % _P,
        (y1 * y2 + x1 * x2) * pow(1 - product, -1, _P) % _P,
    )


def _times(point: Point, count: int) -> Point:
    total: Point = (0, 1)
    while count:
        if count & 1:
            total = _add(total, point)
        point = _add(point, point)
        count >>= 1
    return total


def _encoded(point: Point) -> bytes:
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


_BASE: Point = (_x_of(4 * pow(5, -1, _P) % _P), 4 * pow(5, -1, _P) % _P)
