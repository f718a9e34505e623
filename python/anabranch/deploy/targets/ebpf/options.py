"""Target options of the kernel's datapath."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer


@dataclass(frozen=True)
class Options:
    """Devices whose packets are split, and the hook."""

    dev: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="For ebpf: whose packets these are; those of the plan. Repeatable."),
    ] = None
    hook: Annotated[
        str, typer.Option(metavar="NAME", help="For ebpf: `ingress`, `egress` or `xdp`; that of the plan.")
    ] = ""


OPTIONS = {"reach": Options}
