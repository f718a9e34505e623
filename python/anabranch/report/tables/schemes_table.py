"""Load balancers and techniques on a terminal: all of them as tables, one of them as a page."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.simulate.load_balancers import LoadBalancer, schemes
from anabranch.split.splitter import techniques

GRANULARITIES = ("flow", "flowlet", "flowcell", "packet")

ENVIRONMENTS = {"library": "library", "Open vSwitch": "OVS", "Linux next hops": "Linux"}
"""Environments beside the simulator, where all run; in a word."""

WIDTHS = {"needs": 9, "eBPF": 11, "also in": 8}


def show_all(console: Console) -> None:
    """Prints the table of load balancers, and the one of techniques."""
    console.print(_balancers())
    console.print("\nAll run in the simulator. OVS, Linux and eBPF: what `anabranch apply` installs.", style="dim")
    console.print("\nFor `anabranch split`: what a library can do with weights alone.\n", style="dim")
    console.print(_techniques())
    console.print("\nanabranch schemes show NAME prints a page with rule, parameters and limits.", style="dim")


def record() -> dict[str, Any]:
    """Lists both as plain data."""
    return {
        "schemes": [page_record(balancer) for balancer in schemes()],
        "techniques": [asdict(technique) for technique in techniques()],
    }


def page_record(balancer: LoadBalancer) -> dict[str, Any]:
    """One load balancer as plain data."""
    return {
        **asdict(balancer),
        "published": balancer.published,
        "runs_in": balancer.runs_in,
        "ebpf": ", ".join(balancer.programs),
        "not_ebpf": balancer.why_no_program,
    }


def named(name: str) -> LoadBalancer:
    """The load balancer of a name.

    Raises:
        AnabranchError: no load balancer has that name.

    """
    known = {balancer.name: balancer for balancer in schemes()}
    if name not in known:
        raise AnabranchError(f"scheme: {name}: unknown; {nearest(name, known)}")
    return known[name]


def show_page(balancer: LoadBalancer, console: Console) -> None:
    """Prints the page of one load balancer."""
    console.print(Markdown(_without_title_marks(balancer)))
    console.print()
    console.print(_facts(balancer))
    if balancer.parameters:
        console.print()
        console.print(_parameters(balancer))
    if balancer.mutations:
        console.print()
        console.print(_mutations(balancer))


def _without_title_marks(balancer: LoadBalancer) -> str:
    return re.sub(r"^# ", "## ", balancer.page, count=1)


def _balancers() -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("balance", "decided by", "needs", "eBPF", "also in", "published"):
        # None narrower than its longest word.
        table.add_column(column, no_wrap=column in ("balance", "decided by"), min_width=WIDTHS.get(column))
    kept = ""
    for balancer in sorted(schemes(), key=lambda balancer: GRANULARITIES.index(balancer.granularity)):
        if kept != balancer.granularity:
            table.add_row(*([""] if kept else []))
            kept = balancer.granularity
            table.add_row(Text(f"each {kept}", "bold"))
        table.add_row(
            balancer.name,
            balancer.decided_by,
            ", ".join(balancer.needs) or "-",
            ", ".join(balancer.programs) or "-",
            ", ".join(ENVIRONMENTS[name] for name in balancer.runs_in if name in ENVIRONMENTS) or "-",
            balancer.published,
        )
    return table


def _techniques() -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("technique", "decides per", "what it does", "source"):
        table.add_column(column, no_wrap=column == "technique")
    for technique in techniques():
        table.add_row(technique.name, technique.granularity, technique.summary, technique.source)
    return table


def _facts(balancer: LoadBalancer) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column()
    table.add_row("in a scenario", f'{balancer.setting} = "{balancer.name}"')
    table.add_row("keeps together", f"a {balancer.granularity}")
    table.add_row("decided by", balancer.decided_by)
    table.add_row("needs", ", ".join(balancer.needs) or "nothing but the packet's headers")
    if balancer.reads_elsewhere is not None:
        whose, what = balancer.reads_elsewhere
        table.add_row("reads elsewhere", f"other nodes in its {whose}: {what}")
    programs = ", ".join(balancer.programs)
    table.add_row("runs in", ", ".join((*balancer.runs_in, *([f"eBPF: {programs}"] if programs else []))))
    if reason := balancer.why_no_program:
        table.add_row("not as eBPF", reason)
    return table


def _parameters(balancer: LoadBalancer) -> Table:
    table_of = balancer.setting.partition(".")[0]
    table = Table(box=None, pad_edge=False)
    for column in (f"key below {table_of}", "default", "meaning", "value"):
        table.add_column(column, no_wrap=column.startswith("key"))
    for parameter in balancer.parameters:
        table.add_row(parameter.key, parameter.default.strip("`"), parameter.meaning, parameter.wants)
    return table


def _mutations(balancer: LoadBalancer) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("routing.mutation", no_wrap=True)
    table.add_column("broken on purpose: what happens instead")
    for mutation in balancer.mutations:
        table.add_row(mutation.name, mutation.broken)
    return table
