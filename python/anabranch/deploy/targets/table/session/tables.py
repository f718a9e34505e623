"""Tables of a switch, from weights towards each leaf."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from anabranch.deploy.control.fabric import Network, SwitchFile
from anabranch.deploy.control.forwarding import Forwarding, OwnHost, Towards
from anabranch.deploy.targets.plan.bound import BOUND_PCT
from anabranch.deploy.targets.table.desired import entries_of, recipe_of
from anabranch.deploy.targets.table.observe import Table, TableState
from anabranch.deploy.targets.table.plan_file import WeightedPorts
from anabranch.deploy.targets.table.recipes import HASH

UNREACHED = "drop"
"""Recipe of a table without entries."""


@dataclass(frozen=True)
class TableKeys:
    """Folder and recipe of a switch's tables."""

    folder: str
    recipe: str
    """One of `recipes.LABELS`."""


def seed_of(switch: str) -> int:
    """Seed of a switch's hash: 32 bits of its name; the next switch must not hash what this one has sorted by it."""
    return int.from_bytes(hashlib.sha256(switch.encode()).digest()[:4], "big")


class TablesForwarding(Forwarding[TableState]):
    """Weights towards leaves as tables of slots (`control.forwarding`)."""

    def towards(self, paths: Towards, present: TableState | None) -> TableState:
        """A table of the leaf's name; one without entries, which drops, if the leaf cannot be reached."""
        del present
        if not paths.networks or not paths.paths:
            return TableState()
        return TableState({paths.leaf: _table(paths.switch, paths.networks, paths.paths)})

    def hosts(self, switch: SwitchFile, hosts: Sequence[OwnHost]) -> TableState:
        """A table for each host that has addresses."""
        return TableState(
            {
                host.name: _table(switch, host.addresses, [(number, 1) for number in host.ports])
                for host in hosts
                if host.addresses
            }
        )

    def joined(self, parts: Sequence[TableState]) -> TableState:
        """All tables."""
        return TableState({name: table for part in parts for name, table in part.tables.items()})

    def shares(self, switch: SwitchFile, observed: TableState, leaf: str, index: int) -> dict[int, float]:
        """Shares of the entries of the table of that name."""
        del index
        table = observed.tables.get(leaf)
        if table is None:
            return {}
        number = {name: number for number, name in enumerate(switch.interfaces.values(), start=1)}
        counts = [table.entries.count(path) for path in range(1, len(table.ports) + 1)]
        ways = zip(table.ports, counts, strict=True)
        return {number[port]: count / len(table.entries) for port, count in ways if count and port in number}


def _table(switch: SwitchFile, networks: Sequence[Network], paths: Sequence[tuple[int, int]]) -> Table:
    keys: TableKeys = switch.keys
    interfaces = list(switch.interfaces.values())
    ports = tuple(interfaces[number - 1] for number, _ in paths)
    weights = tuple(str(weight) for _, weight in paths)
    reached = any(weight for _, weight in paths)
    return Table(
        prefixes=tuple(sorted(map(str, networks))),
        ports=ports,
        weights=weights,
        recipe=keys.recipe if reached else UNREACHED,
        hash=HASH,
        seed=seed_of(switch.name),
        entries=_entries(weights, keys.recipe) if reached else (),
    )


@lru_cache(maxsize=1 << 12)
def _entries(weights: tuple[str, ...], recipe: str) -> tuple[int, ...]:
    """Entries of a table; in a fabric many groups have the same weights."""
    one = WeightedPorts("", (), tuple(map(str, range(len(weights)))), weights, recipe, 0, BOUND_PCT, error_given=False)
    return entries_of(one, recipe_of(one))
