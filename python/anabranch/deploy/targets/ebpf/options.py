"""Target options of the kernel's datapath."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from anabranch.deploy.targets.plan.options import StateFile


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
    state: StateFile = ""


OPTIONS = {"reach": Options}
