"""Files for a fabric of P4 switches: the program, its P4Info, and the entries of each switch.

The same program and entries are written for DPDK's SWX pipeline, in which the tests run them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anabranch import _core
from anabranch.deploy.control.topology import Topology
from anabranch.deploy.targets.p4 import addresses as files_addresses
from anabranch.deploy.targets.p4 import swx as files_swx
from anabranch.deploy.targets.p4.p4runtime import P4INFO, write_request
from anabranch.deploy.targets.p4.switches import Pair, Switch, entries, switches
from anabranch.deploy.targets.written import Written, WrittenSwitch, refuse_foreign
from anabranch.files.atomic_folder import written_whole
from anabranch.files.errors import AnabranchError
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.runs.load import read_text
from anabranch.simulate.runs.pair_plan import planners

PROGRAMS = (P4INFO.with_name("turns.p4"), P4INFO, P4INFO.with_name("turns.spec"))
ENTRIES = "entries.txtpb"
RECORD = "switches.json"
ROUTING = "routing."
COUNTER = "routing.scheme.counter"
SHARED = "shared"


def write(
    file: str | Path,
    folder: str | Path,
    balance: str = "",
    pairs: Sequence[Pair] = (),
    overrides: Sequence[tuple[str, str]] = (),
) -> Written:
    """Writes the folder, whole or not at all; one that was written before is replaced.

    Args:
        file: the fabric, with the prefixes of its leaves.
        folder: to write.
        balance: load balancer whose lists the switches follow. Default: `routing.balance` of the file if it plans for
            pairs of leaves, else the first that does.
        pairs: of leaves. Default: all.
        overrides: keys below `routing` and their values as text, put in the file's stead.

    Raises:
        AnabranchError: bad input, a fabric that the program cannot serve, or a folder that cannot be written.

    """
    text, name, target = read_text(file), str(file), Path(folder)
    refuse_foreign(target, RECORD)
    routing = parse_toml(text, name).get("routing", {})
    for key, value in overrides:
        if not key.startswith(ROUTING):
            raise AnabranchError(f"-o {key}={value}: not used with switches as built; change keys below routing")
    given = routing.get("balance") if isinstance(routing, dict) else None
    balance = balance or (given if given in planners() else planners()[0])
    _refuse_counters(name, routing if given == balance else {}, overrides)
    topology = Topology(_core.Fabric(text, name))
    for switch in topology.switches:
        if "/" in switch or switch.startswith("."):
            raise AnabranchError(f"{name}: fabric: {switch}: no name for a folder; call the switch otherwise")
    addresses = files_addresses.read(text, name, topology)
    planned = switches(topology, addresses, (text, name, balance), pairs, overrides)
    entries_by_switch = {one.name: entries(one, topology, addresses) for one in planned.values()}
    requests = {switch: write_request(switch, rows) for switch, rows in entries_by_switch.items()}
    written = Written(balance, str(target), [_row(one) for one in planned.values()])
    with written_whole(target) as part:
        for program in PROGRAMS:
            shutil.copyfile(program, part / program.name)
        for switch, rows in entries_by_switch.items():
            (part / switch).mkdir()
            (part / switch / ENTRIES).write_text(requests[switch], encoding="utf-8")
            for table in files_swx.TABLES:
                (part / switch / f"{table}.swx").write_text(files_swx.table(table, rows), encoding="utf-8")
        (part / RECORD).write_text(json.dumps(written.record, indent=2) + "\n", encoding="utf-8")
    return written


def _refuse_counters(file: str, routing: dict[str, Any], overrides: Sequence[tuple[str, str]]) -> None:
    scheme = routing.get("scheme", {})
    counter = scheme.get("counter", SHARED) if isinstance(scheme, dict) else SHARED
    for key, value in overrides:
        if key == COUNTER:
            counter = value.strip("\"'")
    if counter != SHARED:
        raise AnabranchError(f'{file}: {COUNTER}: {counter}: the program counts a pair\'s packets; take "{SHARED}"')


def _row(switch: Switch) -> WrittenSwitch:
    ports = {
        f"{end.neighbour}#{end.parallel}" if _parallel(switch, end.neighbour) else end.neighbour: number
        for end, number in switch.ports.items()
    }
    return WrittenSwitch(switch.name, ports, switch.lists)


def _parallel(switch: Switch, neighbour: str) -> bool:
    return sum(end.neighbour == neighbour for end in switch.ports) > 1
