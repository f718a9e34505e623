"""Time of a controller to bring a large fabric to its plan, and to follow changes: needs no root.

All bridges are real ones of one `ovs-vswitchd` with the dummy datapath, all processes share this machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from support import needs
from support.controller_pair import moment
from support.controller_process import ControllerProcess, controller, wait
from support.dummy_bridges import DummyBridges, dummy_bridges
from support.reserved_port import reserved_port

REST_S = 0.5


def main() -> None:
    """Makes the bridges, measures, prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    # Every leaf has a group towards each of the other 64.
    for name, default in (("leaves", 65), ("spines", 4), ("trials", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    # No test runner says what this program needs.
    needs.marked.add("ovs")
    table = Table(box=None, pad_edge=False)
    for heading in ("what", "switches", "changes", "time (s)"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    with (
        tempfile.TemporaryDirectory() as folder,
        dummy_bridges(Path(folder), asked.leaves, asked.spines) as fabric,
        reserved_port() as port,
    ):
        file = Path(folder) / "fabric.toml"
        undamped = "[damping]\nuse = false"
        file.write_text(fabric.fabric_toml(http=f"127.0.0.1:{port}", more=undamped))
        with controller(file, port) as process:
            process.wait_healthy()
            groups = [switch["groups"] for switch in process.get("/status.json")[1]["switches"]]
            table.add_row("from empty tables to the plan", *summary(process.events()))
            process.kill()
            done = len(process.events())
            process.start()
            process.wait_healthy()
            time.sleep(REST_S)
            table.add_row("restart, the tables are as planned", *summary(process.events()[done:]))
            for what, up in (("a link fails", False), ("it comes back", True)):
                found = [flip(fabric, process, trial, up) for trial in range(asked.trials)]
                switches, changes = (str(median(row[column] for row in found)) for column in (0, 1))
                table.add_row(f"{what}: first switch", "1", "", f"{median(row[2] for row in found):.3f}")
                table.add_row(f"{what}: all switches", switches, changes, f"{median(row[3] for row in found):.3f}")
            cpu_s, rss_mb = usage(process)
    console = Console(highlight=False)
    console.print(f"{len(groups)} switches with up to {max(groups)} groups, {sum(groups)} in all")
    console.print(table)
    console.print(f"controller after that: {cpu_s:.1f} s of CPU, {rss_mb:.0f} MB")


def summary(events: list[dict[str, Any]]) -> tuple[str, str, str]:
    """Switches and changes of the commits, and the time from the start to the last of them."""
    commits = [event for event in events if event["event"] == "committed"]
    (started,) = (event for event in events if event["event"] == "started")
    last = commits or [event for event in events if event["event"] == "planned"]
    changes = sum(event["changes"] for event in commits)
    return str(len(commits)), str(changes), f"{moment(last[-1]) - moment(started):.2f}"


def flip(fabric: DummyBridges, process: ControllerProcess, trial: int, up: bool) -> tuple[int, int, float, float]:
    """Switches, changes, and the times until the first and the last switch had followed a link of leaf `trial`."""
    done, begun_s = len(process.events()), time.time()
    fabric.set_port(f"leaf{trial}-spine0", up)
    wait(lambda: any(event["event"] == "committed" for event in process.events()[done:]), lambda: "no commit")
    time.sleep(REST_S)
    process.wait_healthy()
    commits = [event for event in process.events()[done:] if event["event"] == "committed"]
    times_s = [moment(event) - begun_s for event in commits]
    return len(commits), sum(event["changes"] for event in commits), min(times_s), max(times_s)


def usage(process: ControllerProcess) -> tuple[float, float]:
    """CPU time in seconds and resident memory in MB."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    ticks, pages = int(fields[11]) + int(fields[12]), int(fields[21])
    return ticks / 100, pages * 4096 / 1e6


if __name__ == "__main__":
    main()
