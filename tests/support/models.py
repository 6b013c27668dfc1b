"""Small model files with real headers, made by tests."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping

from governance.fingerprint.gguf import TENSOR_TYPES


def safetensors(
    tensors: Mapping[str, tuple[str, list[int], int]], metadata: Mapping[str, str] | None = None
) -> bytes:
    """A safetensors file; each tensor is (dtype, shape, bytes)."""
    header: dict[str, object] = {} if metadata is None else {"__metadata__": dict(metadata)}
    at = 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(at)


def gguf(
    pairs: Mapping[str, object], tensors: Mapping[str, tuple[int, list[int]]], *, version: int = 3
) -> bytes:
    """A GGUF file; each tensor is (ggml type, dimensions)."""
    out = [b"GGUF", struct.pack("<IQQ", version, len(tensors), len(pairs))]
    for key, value in pairs.items():
        out += [_text(key), _value(value)]
    end = 0
    for name, (kind, dims) in tensors.items():
        out += [_text(name), struct.pack("<I", len(dims)), *(struct.pack("<Q", d) for d in dims)]
        out.append(struct.pack("<IQ", kind, end))
        elements = 1
        for d in dims:
            elements *= d
        _, block, size = TENSOR_TYPES[kind]
        end += -(-(elements // block * size) // 32) * 32
    head = b"".join(out)
    return head + bytes(-len(head) % 32) + bytes(end)


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: object) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    assert isinstance(value, list)
    if value and isinstance(value[0], int):
        return struct.pack("<IIQ", 9, 5, len(value)) + b"".join(struct.pack("<i", v) for v in value)
    return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(_text(str(v)) for v in value)
