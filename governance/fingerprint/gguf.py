"""What the header of a GGUF file says, and whether the file is whole.

- Layout (ggml `docs/gguf.md`, versions 2 and 3): magic, version, tensor count, key-value count, the pairs,
  the tensor table, padding, tensors. Little-endian; a big-endian file is refused.
- Scalars and short texts are kept; long texts (the chat template) and arrays (the vocabulary) are kept as the
  SHA-256 of their bytes, so that two files can be told apart by part.
"""

from __future__ import annotations

import hashlib
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from governance.errors import Unreadable
from governance.values import Json

Read = Callable[[int, int], bytes]

STEP: Final = 1 << 20
MAX_HEADER: Final = 512 << 20
MAX_COUNT: Final = 1 << 24
KEPT_TEXT: Final = 200
SCALARS: Final[dict[int, str]] = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
TEXT: Final = 8
ARRAY: Final = 9

FILE_TYPES: Final[dict[int, str]] = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S",
    12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K",
    19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL",
    26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0",
    37: "TQ2_0", 38: "MXFP4",
}  # fmt: skip
"""`general.file_type`, from llama.cpp `llama_ftype`."""

TENSOR_TYPES: Final[dict[int, tuple[str, int, int]]] = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 36), 10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4), 27: ("I64", 1, 8), 28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
}  # fmt: skip
"""Tensor type: name, elements per block, bytes per block (ggml `ggml_type`, `ggml-common.h`)."""


@dataclass(frozen=True, slots=True)
class Gguf:
    """The header of one GGUF file. `pairs` holds every key; long texts and arrays as `sha256:…`."""

    version: int
    tensors: int
    types: Mapping[str, int]
    pairs: Mapping[str, Json]

    @property
    def architecture(self) -> str:
        return str(self.pairs.get("general.architecture", ""))

    @property
    def quantisation(self) -> str:
        """The name of the file's quantisation type, `type 99` for a number this table does not know."""
        number = self.pairs.get("general.file_type")
        return "" if number is None else FILE_TYPES.get(int(str(number)), f"type {number}")


class _Cursor:
    def __init__(self, read: Read, size: int) -> None:
        self.read, self.size = read, size
        self.data = b""
        self.at = 0

    def take(self, count: int) -> bytes:
        end = self.at + count
        if end > self.size or end > MAX_HEADER:
            raise Unreadable(f"cut off: the header goes on at byte {end} of {self.size}")
        while len(self.data) < end:
            more = self.read(len(self.data), max(STEP, end - len(self.data)))
            if not more:
                raise Unreadable(f"cut off after {len(self.data)} bytes")
            self.data += more
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def number(self, form: str) -> int | float | bool:
        value: int | float | bool = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        return value

    def count(self) -> int:
        value = int(self.number("<Q"))
        if value > max(MAX_COUNT, self.size):
            raise Unreadable(f"a count of {value} at byte {self.at - 8} cannot be")
        return value

    def text(self) -> str:
        return self.take(self.count()).decode("utf-8", "replace")


def read_gguf(read: Read, size: int) -> Gguf:
    """The header of a file of `size` bytes. Raises `Unreadable` when the file is damaged, saying how."""
    cursor = _Cursor(read, size)
    if cursor.take(4) != b"GGUF":
        raise Unreadable("it does not begin with `GGUF`")
    version = int(cursor.number("<I"))
    if version not in (2, 3):
        raise Unreadable(f"GGUF version {version} is not 2 or 3 (or the file is big-endian)")
    tensors, count = cursor.count(), cursor.count()
    if tensors > MAX_COUNT or count > MAX_COUNT:
        raise Unreadable("the counts of its header cannot be")
    pairs: dict[str, Json] = {}
    for _ in range(count):
        key = cursor.text()
        pairs[key] = _value(cursor, int(cursor.number("<I")))
    types, end = _tensors(cursor, tensors)
    alignment = int(str(pairs.get("general.alignment", 32))) or 32
    start = -(-cursor.at // alignment) * alignment
    if tensors and start + end > size:
        raise Unreadable(f"cut off: {size} bytes, the last tensor ends at {start + end}")
    return Gguf(version, tensors, dict(sorted(types.items())), pairs)


def _value(cursor: _Cursor, kind: int) -> Json:
    if kind == TEXT:
        text = cursor.text()
        return text if len(text) <= KEPT_TEXT else "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    if kind == ARRAY:
        start = cursor.at
        _skip_array(cursor, 0)
        return "sha256:" + hashlib.sha256(cursor.data[start : cursor.at]).hexdigest()
    if kind not in SCALARS:
        raise Unreadable(f"an unknown type {kind} at byte {cursor.at}")
    return cursor.number(SCALARS[kind])


def _skip_array(cursor: _Cursor, depth: int) -> None:
    kind, count = int(cursor.number("<I")), cursor.count()
    if kind in SCALARS:
        cursor.take(count * struct.calcsize(SCALARS[kind]))
    elif kind == TEXT:
        for _ in range(count):
            cursor.take(cursor.count())
    elif kind == ARRAY and depth < 8:
        for _ in range(count):
            _skip_array(cursor, depth + 1)
    else:
        raise Unreadable(f"an unknown array type {kind} at byte {cursor.at}")


def _tensors(cursor: _Cursor, count: int) -> tuple[Counter[str], int]:
    types: Counter[str] = Counter()
    end = 0
    for _ in range(count):
        cursor.text()
        elements = 1
        for _ in range(int(cursor.number("<I"))):
            elements *= int(cursor.number("<Q"))
        kind, offset = int(cursor.number("<I")), int(cursor.number("<Q"))
        name, block, size = TENSOR_TYPES.get(kind, (f"type {kind}", 1, 0))
        types[name] += 1
        end = max(end, offset + elements // block * size)
    return types, end
