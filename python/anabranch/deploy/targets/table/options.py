"""Target options of a table: the folder that it is kept in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer


@dataclass(frozen=True)
class Options:
    """The folder of tables."""

    folder: Annotated[
        str, typer.Option(metavar="DIR", help="Folder of the tables, for table. Default: the plan's `switch.folder`.")
    ] = ""


OPTIONS = {"reach": Options, "explain": Options}
