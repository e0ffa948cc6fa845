"""Numbers as Parquet and Thrift pack them, the obvious way."""

from __future__ import annotations


def varint(n: int) -> bytes:
    """Seven bits to a byte, the lowest first; all bytes but the last have their highest bit set."""
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])
