"""Tables of a datapath as a file keeps them: a snapshot of each group's splitter."""

from __future__ import annotations

from base64 import b64decode, b64encode

from anabranch._core import Splitter
from anabranch.deploy.targets.state_file import StateForm
from anabranch.files.errors import AnabranchError

TECHNIQUE = "min-move"


def _encode(table: bytes) -> str:
    return b64encode(table).decode()


def _decode(encoded: object) -> bytes:
    if not isinstance(encoded, str):
        raise TypeError
    snapshot = b64decode(encoded, validate=True)
    technique = Splitter.restore(snapshot).technique
    if technique != TECHNIQUE:
        raise AnabranchError(f"of {technique}, not of {TECHNIQUE}")
    return snapshot


FORM = StateForm("a datapath", _encode, _decode)
"""Tables as `KernelDatapath.tables` gives them."""
