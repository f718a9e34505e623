"""Time until a second controller of a fabric has taken over from one that was killed, and what it finds: needs no root.

Two processes follow bridges of one `ovs-vswitchd` with the dummy datapath. At random moments the primary of the two is
killed (SIGKILL): each second time among changes of links, otherwise while nothing changes. After every kill the other
has to become the primary of every bridge and to bring the bridges to what an observer that knows neither plans, and
where no link changed it has to send nothing. At the end a controller of empty bridges has to make the same tables.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from anabranch.deploy.control import file as fabric_file
from anabranch.deploy.control.once import reconcile
from support import needs
from support.controller_pair import ControllerPair, changes_without_role, controller_pair, taken_over_s
from support.controller_process import ControllerProcess
from support.dummy_bridges import DummyBridges, dummy_bridges
from support.held_tables import assert_same, empty, held, operate
from support.waiting import DEADLINE_S

WARM_UP_S = 0.5
"""Largest time between the last change and a kill."""


def main() -> None:
    """Makes the bridges, kills, prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name, default in (("leaves", 3), ("spines", 3), ("kills", 10), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--takeover", default="1 s", help="redundancy.takeover of both")
    asked = parser.parse_args()
    # No test runner says what this program needs.
    needs.marked.add("ovs")
    times_s: dict[str, list[float]] = {"while nothing changes": [], "among changes of links": []}
    with (
        tempfile.TemporaryDirectory() as folder,
        dummy_bridges(Path(folder), asked.leaves, asked.spines) as fabric,
        controller_pair(Path(folder), fabric, asked.takeover) as pair,
    ):
        operate(fabric.open_vswitch, fabric.bridges)
        source = random.Random(asked.seed)
        for number in range(asked.kills):
            kind = list(times_s)[number % 2]
            times_s[kind].append(killed(fabric, pair, source, changes=bool(number % 2)))
        left = held(fabric.open_vswitch, fabric.bridges)
        for one in pair.controllers:
            one.kill()
        empty(fabric.open_vswitch, fabric.bridges)
        asyncio.run(reconcile(plain(fabric), DEADLINE_S, commits=True))
        assert_same(left, held(fabric.open_vswitch, fabric.bridges))
    table = Table(box=None, pad_edge=False)
    for heading in ("killed", "kills", "taken over, median (s)", "worst (s)"):
        table.add_column(heading, justify="left" if heading == "killed" else "right")
    for kind, all_s in times_s.items():
        if all_s:
            table.add_row(kind, str(len(all_s)), f"{median(all_s):.2f}", f"{max(all_s):.2f}")
    console = Console(highlight=False)
    console.print(table)
    console.print(f"{asked.kills} kills, each followed by bridges as planned; nothing was changed without a role")


def killed(fabric: DummyBridges, pair: ControllerPair, source: random.Random, *, changes: bool) -> float:
    """Kills the primary and starts it again; seconds until the other had all bridges.

    Raises:
        AssertionError: the bridges are not as planned then, or somebody changed what need not be changed.

    """
    primary = pair.primary()
    other = pair.other(primary)
    for _ in range(3 * changes):
        fabric.change(source)
    time.sleep(source.random() * (0.03 if changes else WARM_UP_S))
    before = changed(other)
    killed_s = time.time()
    primary.kill()
    if changes:
        fabric.change(source)
    after_s = taken_over_s(other, fabric.bridges, killed_s)
    primary.start()
    assert pair.primary() is other, pair.story()
    if not changes:
        assert changed(other) == before, pair.story()
    _, lines = asyncio.run(reconcile(plain(fabric), DEADLINE_S, commits=False))
    assert lines == [], lines
    for one in pair.controllers:
        assert changes_without_role(one) == []
    return after_s


def changed(process: ControllerProcess) -> int:
    """Number of changes that a controller's switches have taken from it."""
    return sum(switch["changes"] for switch in process.status()["switches"])


def plain(fabric: DummyBridges) -> fabric_file.FabricFile:
    """The fabric for one who has no part in the election."""
    databases = dict.fromkeys(fabric.bridges, fabric.open_vswitch.database)
    return fabric_file.parse(fabric.fabric_toml(databases=databases, more="[damping]\nuse = false"), "fabric.toml")


if __name__ == "__main__":
    main()
