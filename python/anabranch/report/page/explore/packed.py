"""Arrays of numbers as text in a page."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

KINDS = ("f4", "f8", "u1", "u2", "u4")
"""Types that `scripts/unpack.js` reads: little-endian reals and whole numbers by their bytes."""


def pack(values: npt.ArrayLike, kind: str) -> dict[str, Any]:
    """Array of type `kind` as its shape and its bytes in base64, in the order of C; a real may be NaN."""
    assert kind in KINDS
    array = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    return {"kind": kind, "shape": list(array.shape), "bytes": base64.b64encode(array.tobytes()).decode()}
