"""File with the tables of a datapath, from which another one goes on: after a reboot, or elsewhere."""

from __future__ import annotations

import binascii
import json
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping
from pathlib import Path

from anabranch._core import Splitter
from anabranch.files.atomic_file import write_whole
from anabranch.files.errors import AnabranchError

FORMAT = 1
TECHNIQUE = "min-move"
HINT = "move it away to begin without a history, or give one that keeps tables of a datapath"


def check(file: str) -> None:
    """Refuses a file that could not be written, before the kernel is changed.

    Raises:
        AnabranchError: it is stdout or a directory, or its directory is missing or may not be written.

    """
    path = Path(file)
    if file == "-":
        raise AnabranchError("state: -: stdout keeps nothing; hint: give a file, as in plan.state")
    if path.is_dir():
        raise AnabranchError(f"state: {file}: a directory; hint: give a file in it, as in {file}/plan.state")
    if not path.parent.is_dir():
        raise AnabranchError(f"state: {file}: there is no directory {path.parent}; hint: make it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise AnabranchError(f"state: {file}: may not be written; hint: give another file, or the right to write it")


def read(file: str) -> dict[str, bytes]:
    """Tables by the names of their groups, as `KernelDatapath.tables`; none where there is no such file yet.

    Raises:
        AnabranchError: the file cannot be read, or is none that `write` wrote.

    """
    try:
        text = Path(file).read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise AnabranchError(f"{file}: cannot be read: {error.strerror}; hint: give another file") from None
    try:
        document = json.loads(text)
        version, tables = document["format"], document["tables"]
        snapshots = {str(name): b64decode(table, validate=True) for name, table in tables.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error):
        raise AnabranchError(f"{file}: not the state of a datapath; hint: {HINT}") from None
    if version != FORMAT:
        raise AnabranchError(f"{file}: format: {version}: this version reads {FORMAT}; hint: {HINT}")
    for name, snapshot in snapshots.items():
        try:
            technique = Splitter.restore(snapshot).technique
        except AnabranchError as error:
            raise AnabranchError(f"{file}: tables: {name}: {error}; hint: {HINT}") from None
        if technique != TECHNIQUE:
            raise AnabranchError(f"{file}: tables: {name}: of {technique}, not of {TECHNIQUE}; hint: {HINT}")
    return snapshots


def write(file: str, tables: Mapping[str, bytes]) -> None:
    """Writes the file whole, or not at all.

    Raises:
        AnabranchError: the file cannot be written.

    """
    encoded = {name: b64encode(table).decode() for name, table in tables.items()}
    write_whole(file, json.dumps({"format": FORMAT, "tables": encoded}, indent=1) + "\n")
