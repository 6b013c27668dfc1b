"""What the header of a safetensors file says, and whether the file is whole.

- Layout (safetensors format, version 0.x): eight bytes little-endian header length, a JSON header, then the
  tensors without gaps. Name, `dtype`, `shape` and `data_offsets` per tensor.
- A file that was cut off is shorter than its last tensor's end; some readers load it all the same.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from governance.errors import Unreadable

Read = Callable[[int, int], bytes]
"""Reads up to `length` bytes from `start`."""

MAX_HEADER: Final = 100_000_000
BITS: Final = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I16": 16, "U16": 16, "F16": 16,
    "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64, "F4": 4,
    "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Header:
    """Tensors of one file: how many, how many of each dtype, and the free-text metadata."""

    tensors: int
    dtypes: Mapping[str, int]
    metadata: Mapping[str, str]

    @property
    def main_dtype(self) -> str:
        """The dtype most tensors have, empty for a file without tensors."""
        return max(self.dtypes, key=lambda name: (self.dtypes[name], name)) if self.dtypes else ""


def read_header(read: Read, size: int) -> Header:
    """The header of a file of `size` bytes. Raises `Unreadable` when the file is damaged, saying how."""
    start = read(0, 8)
    if len(start) < 8:
        raise Unreadable(f"{size} bytes are too few for a header")
    length = int.from_bytes(start, "little")
    if length > MAX_HEADER or 8 + length > size:
        raise Unreadable(f"the header claims {length} bytes in a file of {size}")
    try:
        value = json.loads(read(8, length))
        metadata = value.pop("__metadata__", {})
        ends = [_check(name, entry) for name, entry in value.items()]
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError) as err:
        raise Unreadable("the header is not a table of tensors") from err
    end = 8 + length + max((stop for _, stop in ends), default=0)
    if end > size:
        raise Unreadable(f"cut off: {size} bytes, the last tensor ends at {end}")
    if end < size:
        raise Unreadable(f"{size - end} bytes after the last tensor")
    _no_gaps(ends)
    dtypes = Counter(str(entry["dtype"]) for entry in value.values())
    return Header(len(value), dict(sorted(dtypes.items())), {str(k): str(v) for k, v in metadata.items()})


def _check(name: str, entry: Mapping[str, Any]) -> tuple[int, int]:
    first, last = (int(n) for n in entry["data_offsets"])
    elements = 1
    for n in entry["shape"]:
        elements *= int(n)
    bits = BITS.get(entry["dtype"])
    if not 0 <= first <= last or (bits is not None and (elements * bits + 7) // 8 != last - first):
        raise Unreadable(f"tensor `{name}` does not fit its offsets")
    return first, last


def _no_gaps(ends: list[tuple[int, int]]) -> None:
    reached = 0
    for first, last in sorted(ends):
        if first != reached:
            raise Unreadable(f"tensors overlap or leave a gap at byte {min(first, reached)}")
        reached = last
