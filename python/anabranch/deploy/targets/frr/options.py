"""Target options of FRR: where its daemons listen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer


@dataclass(frozen=True)
class Options:
    """The sockets of a router's daemons."""

    vty_socket: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="Folder with the sockets of FRR's daemons, as `vtysh --vty_socket` takes it; with a path space NAME "
            "it is /run/frr/NAME.",
        ),
    ] = "/run/frr"


OPTIONS = {"compare": Options}
