"""File with the tables of a switch, from which another one goes on: after a reboot, or elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from anabranch.files.atomic_file import write_whole
from anabranch.files.errors import AnabranchError

Table = TypeVar("Table")
FORMAT = 1


@dataclass(frozen=True)
class StateForm(Generic[Table]):
    """The form in which one target keeps its tables."""

    noun: str
    """Noun phrase for the switch, as in `a datapath`."""
    encode: Callable[[Table], object]
    """A table as values of JSON."""
    decode: Callable[[object], Table]
    """The table of such values. Raises ValueError, TypeError or KeyError where they are none, and an AnabranchError
    where they are a table that this target does not keep."""

    @property
    def hint(self) -> str:
        """The hint for a file that is none of these."""
        return f"move it away to begin without a history, or give one that keeps tables of {self.noun}"


def check(file: str) -> None:
    """Refuses a file that could not be written, before a switch is changed.

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


def read(file: str, form: StateForm[Table]) -> dict[str, Table]:
    """Tables by the names of their groups; none where there is no such file yet.

    Raises:
        AnabranchError: the file cannot be read, or is none that `write` wrote in this form.

    """
    try:
        text = Path(file).read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise AnabranchError(f"{file}: cannot be read: {error.strerror}; hint: give another file") from None
    other = AnabranchError(f"{file}: not the state of {form.noun}; hint: {form.hint}")
    try:
        document = json.loads(text)
        version, encoded = document["format"], dict(document["tables"].items())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise other from None
    if version != FORMAT:
        raise AnabranchError(f"{file}: format: {version}: this version reads {FORMAT}; hint: {form.hint}")
    tables: dict[str, Table] = {}
    name = ""
    try:
        for name, table in encoded.items():
            tables[name] = form.decode(table)
    except AnabranchError as error:
        raise AnabranchError(f"{file}: tables: {name}: {error}; hint: {form.hint}") from None
    except (ValueError, KeyError, TypeError):
        raise other from None
    return tables


def write(file: str, form: StateForm[Table], tables: Mapping[str, Table]) -> None:
    """Writes the file whole, or not at all; each group has a line.

    Raises:
        AnabranchError: the file cannot be written.

    """
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(form.encode(table))}" for name, table in tables.items())
    write_whole(file, f'{{"format": {FORMAT}, "tables": {{\n{lines}\n}}}}\n')
