"""What was written for routers, as plain values: the split that FRR will give beside the one that is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.deploy.targets.frr.bandwidth import notes
from anabranch.deploy.targets.frr.fabric import Group, Routers
from anabranch.deploy.targets.plan.group import short
from anabranch.deploy.targets.written import WrittenTable
from anabranch.files.units import count, pct
from anabranch.split.stats.mape import mape

LEAVES_SHOWN = 3


@dataclass(frozen=True)
class WrittenRouters:
    """Files written for the routers of a fabric (`written.WrittenFiles`)."""

    folder: str
    routers: Routers

    @property
    def record(self) -> dict[str, Any]:
        """Everything but the folder's name, as plain data."""
        return {
            "routers": [
                {
                    "name": router,
                    "as": self.routers.system[router],
                    "groups": [self._group(group) for group in self.routers.groups[router]],
                }
                for router in self.routers.topology.switches
            ],
            "notes": list(self.notes),
        }

    @property
    def table(self) -> WrittenTable:
        """The split of each router towards each leaf; leaves that are split towards alike share a row."""
        columns = ("router", False), ("to", False), ("ports", False), ("asked %", False), ("weights", False)
        rows = list(self._rows())
        title = f"{self.folder}: {count(len(self.routers.topology.switches))} routers"
        return WrittenTable(title, (*columns, ("given %", False), ("error %", True)), rows, self.notes)

    @property
    def notes(self) -> Sequence[str]:
        """What FRR cannot keep of the weights, each once."""
        lost: dict[str, None] = {}
        for router, alike in self._alike():
            name = f"{router} to {_leaves(alike)}"
            lost |= dict.fromkeys(notes(name, alike[0].weights, alike[0].mbps))
        return tuple(lost)

    def _alike(self) -> Iterator[tuple[str, list[Group]]]:
        for router in self.routers.topology.switches:
            alike: dict[Any, list[Group]] = {}
            for group in self.routers.groups[router]:
                alike.setdefault((group.ends, group.weights, group.mbps), []).append(group)
            yield from ((router, groups) for groups in alike.values())

    def _rows(self) -> Iterator[Sequence[str]]:
        for router, alike in self._alike():
            group = alike[0]
            yield (
                router,
                _leaves(alike),
                short([self.routers.device[end] for end in group.ends]),
                _percents(group.asked),
                short(group.installed),
                _percents(group.achieved),
                pct(mape(group.asked, group.achieved)),
            )

    def _group(self, group: Group) -> dict[str, Any]:
        return {
            "to": group.leaf,
            "ports": [self.routers.device[end] for end in group.ends],
            "weights": list(group.weights),
            "bandwidth_mbps": list(group.mbps),
            "installed": list(group.installed),
            "asked": group.asked,
            "achieved": group.achieved,
            "mape_pct": mape(group.asked, group.achieved),
        }


def _leaves(groups: Sequence[Group]) -> str:
    names = [group.leaf for group in groups]
    more = f" and {count(len(names) - LEAVES_SHOWN)} more" if len(names) > LEAVES_SHOWN else ""
    return ", ".join(names[:LEAVES_SHOWN]) + more


def _percents(shares: Sequence[float]) -> str:
    return short([f"{100 * share:.2f}" for share in shares])
