"""Load balancers that are a table, by what a resolved `[routing]` says of it.

Where each of them runs stands in its descriptor, which `anabranch schemes` shows: what a lab's switches can do follows
from that.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from anabranch import _core
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.load_balancers import LoadBalancer, schemes

EACH_SWITCH = "switches"
"""Who decides by a table: not leaves, which choose by rules of their own, nor a plan made beforehand."""
SCENARIO = """\
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 1
[traffic]
kind = "poisson"
load = 0.1
flows = 1
sizes = "web-search"
[routing]
balance = "{name}"
"""
"""The least scenario, for its `[routing]` as it is resolved."""


class Table(NamedTuple):
    """A table of choices."""

    granularity: str
    table: str
    order: str = ""
    """Order of a table that is gone through in turn."""


def table_of(routing: Mapping[str, Any]) -> Table:
    """The table of a resolved `[routing]`."""
    return Table(routing["granularity"], routing["table"], routing.get("order", ""))


@cache
def by_table() -> dict[Table, tuple[LoadBalancer, ...]]:
    """Load balancers that are no more than a table at each switch, in the order of their list."""
    tables: dict[Table, tuple[LoadBalancer, ...]] = {}
    for balancer in schemes():
        if balancer.setting != "routing.balance" or balancer.decided_by != EACH_SWITCH:
            continue
        text = SCENARIO.format(name=balancer.name)
        routing = parse_toml(_core.Scenario(text, balancer.name).resolved_toml(), balancer.name)["routing"]
        if "scheme" not in routing:
            table = table_of(routing)
            tables[table] = (*tables.get(table, ()), balancer)
    return tables


def balancer_of(routing: Mapping[str, Any]) -> LoadBalancer | None:
    """The load balancer that a resolved `[routing]` names, if it names one."""
    return next((one for one in schemes() if one.name == routing.get("balance")), None)
