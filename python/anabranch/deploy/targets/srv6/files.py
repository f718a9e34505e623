"""Files for a fabric whose hosts choose among explicit paths: Linux' commands and SONiC's CONFIG_DB of each node."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from anabranch import _core
from anabranch.deploy.control.topology import Topology
from anabranch.deploy.targets.srv6.addresses import Addresses, ends_of, leaf_of, read
from anabranch.deploy.targets.srv6.linux import host_commands, switch_commands, towards
from anabranch.deploy.targets.srv6.segments import SegmentPath
from anabranch.deploy.targets.srv6.segments import read as read_paths
from anabranch.deploy.targets.srv6.sonic import config_db
from anabranch.deploy.targets.written import Written, WrittenSwitch, refuse_foreign
from anabranch.files.atomic_folder import written_whole
from anabranch.files.errors import AnabranchError
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.runs.load import read_text

BALANCE = "explicit"
LINUX = "ip.batch"
SONIC = "config_db.json"
LISTS = "segment_lists.csv"
RECORD = "switches.json"
COLUMNS = ("host", "towards", "path", "weight", "mark", "segments")
Paths = dict[tuple[str, str], list[SegmentPath]]


def write(
    file: str | Path,
    folder: str | Path,
    balance: str = "",
    pairs: Sequence[tuple[str, str]] = (),
    overrides: Sequence[tuple[str, str]] = (),
) -> Written:
    """Writes the folder, whole or not at all; one that was written before is replaced.

    Args:
        file: the fabric, with the table of its paths under `routing.paths`; without one, all shortest paths.
        folder: to write.
        balance: not given; explicit paths are balanced by hosts.
        pairs: of leaves whose paths are written. Default: all.
        overrides: none are taken.

    Raises:
        AnabranchError: bad input, paths that segments cannot name, or a folder that cannot be written.

    """
    if balance or overrides:
        what = f"target: {balance}" if balance else f"-o {overrides[0][0]}"
        raise AnabranchError(f"{what}: not used with explicit paths, which routing.paths lists; leave it out")
    text, name, target = read_text(file), str(file), Path(folder)
    refuse_foreign(target, RECORD)
    topology = Topology(_core.Fabric(text, name))
    for node in topology.number:
        if "/" in node or node.startswith("."):
            raise AnabranchError(f"{name}: fabric: {node}: no name for a folder; call it otherwise")
    addresses = read(text, name, topology)
    paths: Paths = {}
    for path in read_paths(name, _table(text, name), addresses):
        if not pairs or _leaves(topology, path) in pairs:
            paths.setdefault((path.source, path.destination), []).append(path)
    hosts = [node.name for node in topology.nodes if topology.is_host(node.name)]
    commands = {switch: switch_commands(switch, addresses) for switch in topology.switches}
    commands |= {host: host_commands(host, addresses, paths) for host in hosts}
    written = Written(BALANCE, str(target), [_row(switch, addresses, paths) for switch in topology.switches])
    with written_whole(target) as part:
        for node, lines in commands.items():
            (part / node).mkdir()
            (part / node / LINUX).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        for switch in topology.switches:
            document = json.dumps(config_db(switch, addresses), indent=4, sort_keys=True)
            (part / switch / SONIC).write_text(f"{document}\n", encoding="utf-8")
        (part / LISTS).write_text(_lists(hosts, addresses, paths), encoding="utf-8")
        (part / RECORD).write_text(json.dumps(written.record, indent=2) + "\n", encoding="utf-8")
    return written


def _table(text: str, file: str) -> str | None:
    """Name of the table of paths that the fabric's file has."""
    routing = parse_toml(text, file).get("routing", {})
    paths = routing.get("paths", {}) if isinstance(routing, dict) else {}
    named = paths.get("file") if isinstance(paths, dict) else paths
    if named is not None and not isinstance(named, str):
        raise AnabranchError(f"{file}: routing.paths.file: {named}: no name of a file; write it as text")
    return named


def _leaves(topology: Topology, path: SegmentPath) -> tuple[str, str]:
    first, last = (
        leaf_of(topology, node) if topology.is_host(node) else node for node in (path.source, path.destination)
    )
    return first, last


def _row(switch: str, addresses: Addresses, paths: Paths) -> WrittenSwitch:
    """Ports of a switch, and of a leaf the port that each path to another leaf takes there."""
    ends = ends_of(addresses.topology, switch)
    numbers = {end.neighbour: number for number, end in enumerate(ends, 1)}
    lists = {pair: tuple(numbers[path.first] for path in listed) for pair, listed in paths.items() if pair[0] == switch}
    return WrittenSwitch(switch, numbers, lists)


def _lists(hosts: Sequence[str], addresses: Addresses, paths: Paths) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for host in hosts:
        for destination, _, listed in towards(host, addresses, paths):
            rows.writerows((host, destination, path.path, path.weight, path.mark, path.segments) for path in listed)
    return text.getvalue()
