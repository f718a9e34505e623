"""Target options of the kernel's datapath."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer


@dataclass(frozen=True)
class Options:
    """Devices whose packets are split, the hook, and the file of the tables."""

    dev: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="For ebpf: whose packets these are; those of the plan. Repeatable."),
    ] = None
    hook: Annotated[
        str, typer.Option(metavar="NAME", help="For ebpf: `ingress`, `egress` or `xdp`; that of the plan.")
    ] = ""
    state: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="For ebpf: keep the tables in this file, so that a new datapath goes on from them, as after a reboot.",
        ),
    ] = ""


OPTIONS = {"reach": Options}
