"""Cost of reading a plan of many groups and of planning it, on each target, without a switch.

`python bench/plans.py [GROUPS...]`: processor time in microseconds for each group, each target in a process of its own;
groups that all have the same weights, then groups that all have others. What a target has no room for is left out.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.openflow.tables import Tables
from anabranch.deploy.targets.ebpf import desired as ebpf
from anabranch.deploy.targets.ebpf import listing
from anabranch.deploy.targets.linux import change as linux_change
from anabranch.deploy.targets.linux import desired as linux
from anabranch.deploy.targets.linux.observe import LinuxState
from anabranch.deploy.targets.ovs import desired as ovs
from anabranch.deploy.targets.ovs.change import TablesChange
from anabranch.deploy.targets.registry import plan_forms
from anabranch.deploy.targets.table import desired as table
from anabranch.files.errors import AnabranchError
from anabranch.files.toml_document import parse_toml

GROUPS = (1000, 4000, 30_000)
PORTS = {"p1": 1, "p2": 2}
DEVICES = {name: Device(number, name, True, True) for name, number in {**PORTS, "in": 3}.items()}
PATIENCE_S = 3600.0
NEAR = 15
"""Least weight where all groups have others; the others go up by one."""


def text(groups: int, *, alike: bool) -> str:
    """Plan of groups with two paths and a prefix each."""
    rows = ['seed = 7\n[switch]\ndev = ["in"]\n']
    for n in range(groups):
        first, second = (3, 1) if alike else (NEAR + n // 500, NEAR + n % 500)
        rows.append(
            f'[[group]]\nname = "g{n}"\nmatch = {{ ip_dst = ["10.{n >> 8 & 255}.{n & 255}.{n >> 16 << 4}/28"] }}\n'
            f'ports = ["p1", "p2"]\nweights = [{first}, {second}]\n'
        )
    return "".join(rows)


def in_bridge(plan: object) -> int:
    """Rules and groups of a bridge that has none, and the change."""
    aimed = ovs.desired(plan, PORTS, Tables(), 0)  # type: ignore[arg-type]
    return len(TablesChange.between(Tables(), aimed.tables).lines())


def in_kernel(plan: object) -> int:
    """Nexthops, groups and routes of a kernel that has none, and the change."""
    aimed = linux.desired(plan, LinuxState(), DEVICES, 65535).state  # type: ignore[arg-type]
    return len(linux_change.lines(linux_change.steps(LinuxState(), aimed), LinuxState(), aimed))


def in_datapath(plan: object) -> int:
    """Groups of a datapath, and the change from none."""
    return len(listing.lines("plan", None, ebpf.desired(plan, DEVICES, None), {}))  # type: ignore[arg-type]


def in_tables(plan: object) -> int:
    """Tables of entries."""
    return len(table.desired(plan).state.tables)  # type: ignore[arg-type]


TARGETS: dict[str, Callable[[object], int]] = {
    "ovs": in_bridge,
    "linux": in_kernel,
    "ebpf": in_datapath,
    "table": in_tables,
}


def cost(target: str, groups: int, alike: bool) -> tuple[float, float, float, float] | None:
    """Microseconds for each group: TOML, the rest of the reader, planning; MiB of memory at most. None: no room."""
    plan = text(groups, alike=alike)
    if target != "ebpf":
        plan = plan.replace('[switch]\ndev = ["in"]\n', "")
    if target == "linux":
        plan = plan.replace("seed = 7\n", "")
    begun = time.process_time()
    parse_toml(plan, "plan.toml")
    parsed = time.process_time()
    try:
        form = plan_forms()[target].parse(plan, "plan.toml")
    except AnabranchError as error:
        if "at most" in str(error):
            return None
        raise
    read = time.process_time()
    assert TARGETS[target](form) >= groups
    planned = time.process_time()
    toml_s = parsed - begun
    times = (toml_s, read - parsed - toml_s, planned - read)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return times[0] / groups * 1e6, times[1] / groups * 1e6, times[2] / groups * 1e6, peak_mib


def main() -> None:
    """Prints the table."""
    counts = [int(one) for one in sys.argv[1:]] or GROUPS
    print(f"{'target':8}{'groups':>10}{'weights':>10}{'TOML':>8}{'reader':>8}{'plan':>8}  us each, {'MiB':>6}")
    for target in TARGETS:
        for groups in counts:
            for alike in (True, False):
                with ProcessPoolExecutor(1) as pool:
                    found = pool.submit(cost, target, groups, alike).result(PATIENCE_S)
                if found is not None:
                    toml, reader, plan, peak = found
                    words = "alike" if alike else "others"
                    print(
                        f"{target:8}{groups:10,}{words:>10}{toml:8.0f}{reader:8.0f}{plan:8.0f}{peak:18.0f}", flush=True
                    )


if __name__ == "__main__":
    main()
