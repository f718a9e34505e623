"""Frames of a pcapng file (draft-ietf-opsawg-pcapng), little-endian as `anabranch run` writes it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

ENHANCED_PACKET = 6


def frames(path: Path) -> Iterator[bytes]:
    """Captured bytes of each frame, in the order of the file."""
    content, at = path.read_bytes(), 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == ENHANCED_PACKET:
            (captured,) = struct.unpack_from("<I", content, at + 20)
            yield content[at + 28 : at + 28 + captured]
        at += length
