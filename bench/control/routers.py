"""Time from a link's failure and return to the kernel's group of a leaf that runs FRR: run as root.

Two leaves and three spines with zebra and bgpd in namespaces, as `anabranch plan --target frr` configures them, the
links of 10, 7 and 4 Gbps of `examples/bgp.toml`:

* local: the leaf's own link to a spine loses its carrier.
* remote: the spine's link to the other leaf does; the leaf learns of it by BGP alone.
* killed: bgpd of a spine is killed; its kernel closes the sessions.
* back: any of them returns.

The kernel is asked every 2 ms; a time ends when the weights of its route are the planned ones.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from anabranch.deploy.targets.frr.bandwidth import predicted  # noqa: E402
from anabranch.deploy.targets.frr.files import write  # noqa: E402
from support.frr_routers import Router, each, routers  # noqa: E402
from support.needs import marked  # noqa: E402

LINKS = [(leaf, f"spine{number}") for leaf in ("leaf0", "leaf1") for number in range(3)]
PREFIXES = {"leaf0": ["10.1.0.0/24", "fd00:1::/64"], "leaf1": ["10.1.1.0/24", "fd00:2::/64"]}
PREFIX = "10.1.1.0/24"
LOOK_S, REST_S, LIMIT_S = 0.002, 1.0, 60.0
WHOLE = dict(zip(("spine0", "spine1", "spine2"), predicted([10000, 7000, 4000]), strict=True))
WITHOUT = dict(zip(("spine0", "spine2"), predicted([10000, 4000]), strict=True))


def main() -> None:
    """Makes the routers, measures, and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, default=10)
    trials = parser.parse_args().trials
    marked.add("root")
    with tempfile.TemporaryDirectory() as temporary, routers(LINKS, PREFIXES) as by_name:
        folder = Path(temporary) / "routers"
        write(ROOT / "examples" / "bgp.toml", folder)
        begun = time.monotonic()
        each(by_name, lambda router: router.configure(folder / router.name / "frr.conf"))
        times = {"start: configurations loaded": [until(by_name["leaf0"], WHOLE, begun)]}
        for name, (fail, restore) in failures(by_name, folder).items():
            for _ in range(trials):
                for what, do, split in ((name, fail, WITHOUT), (f"{name}, back", restore, WHOLE)):
                    time.sleep(REST_S)
                    begun = time.monotonic()
                    do()
                    times.setdefault(what, []).append(until(by_name["leaf0"], split, begun))
    table = Table(box=None, pad_edge=False)
    for heading in ("event", "times", "median (ms)", "longest (ms)"):
        table.add_column(heading)
    for what, taken_s in times.items():
        table.add_row(what, str(len(taken_s)), f"{1e3 * statistics.median(taken_s):.0f}", f"{1e3 * max(taken_s):.0f}")
    Console().print(table)


def failures(by_name: dict[str, Router], folder: Path) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """What fails, and how it returns, by name."""
    leaf0, leaf1, spine1 = by_name["leaf0"], by_name["leaf1"], by_name["spine1"]

    def start() -> None:
        spine1.start("bgpd")
        spine1.configure(folder / "spine1" / "frr.conf")

    def link(leaf: Router, state: str) -> Callable[[], str]:
        return lambda: leaf.ip("link", "set", "spine1", state)

    return {
        "local link": (link(leaf0, "down"), link(leaf0, "up")),
        "remote link": (link(leaf1, "down"), link(leaf1, "up")),
        "bgpd killed": (lambda: spine1.kill("bgpd"), start),
    }


def until(leaf: Router, split: dict[str, int], begun: float) -> float:
    """Seconds until the kernel splits so, looked at every 2 ms."""
    while leaf.split(PREFIX) != split:
        if time.monotonic() - begun > LIMIT_S:
            raise SystemExit(f"{PREFIX}: {leaf.split(PREFIX)} after {LIMIT_S:g} s, not {split}")
        time.sleep(LOOK_S)
    return time.monotonic() - begun


if __name__ == "__main__":
    main()
