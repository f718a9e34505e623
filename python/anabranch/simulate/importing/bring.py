"""A scenario's folder from the files of other tools, written whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anabranch._core import Scenario
from anabranch.files.atomic_folder import written_whole
from anabranch.files.errors import AnabranchError
from anabranch.simulate.importing import containerlab, dot, gml, node_link, ns3_flows, sizes
from anabranch.simulate.importing.attribute_graph import AttributeGraph
from anabranch.simulate.importing.graph_table import graph_table, losses
from anabranch.simulate.importing.longest_path import most_in_flight
from anabranch.simulate.importing.ns3_config import Config
from anabranch.simulate.importing.plain_text import lines
from anabranch.simulate.importing.sources import Source, Sources, gather
from anabranch.simulate.runs.literal import literal
from anabranch.simulate.runs.load import load

SCENARIO = "scenario.toml"
GRAPHS = {"gml": gml.read, "dot": dot.read, "node-link": node_link.read, "containerlab": containerlab.read}
FILES = {"ns3": "topology.txt", "htsim": "topology.topo", "graphml": "topology.graphml"}
ROCE: dict[str, dict[str, Any]] = {
    "transport": {"kind": "roce"},
    "host": {"nic": "rdma"},
    "framing": {"mss": "1000 B", "headers": "48 B"},
}
"""Settings of RDMA simulators that come without their configuration."""


@dataclass
class Brought:
    """What was imported."""

    folder: Path
    hosts: int = 0
    nodes: int = 0
    links: int = 0
    flows: int | None = None
    """Flows of the list that was imported, if there was one."""
    files: dict[str, str] = field(default_factory=dict)
    """Files that were written, each with the file that it comes from."""
    assumed: list[str] = field(default_factory=list)
    """What no file says."""
    warnings: list[str] = field(default_factory=list)


def bring(paths: Sequence[Path], folder: Path) -> Brought:
    """Writes a scenario for `anabranch run` into a new folder.

    Raises:
        AnabranchError: the folder exists, a file is not understood, or what they say together is no scenario; the
            message has the file and line.

    """
    if folder.exists():
        raise AnabranchError(f"{folder}: exists; give a new folder by --into")
    sources, warnings = gather(paths)
    brought = Brought(folder, warnings=warnings)
    contents: dict[str, str] = {}
    tables = _tables(sources, brought, contents)
    with written_whole(folder) as part:
        for name, content in contents.items():
            (part / name).write_text(content, encoding="utf-8")
        try:
            topology = _written(tables, part, brought).topology()
            if sources.config is not None and sources.config.marks:
                _mark(sources.config, topology, tables, brought)
            if tables.get("transport", {}).get("recovery") == "selective":
                payload_bytes = int(str(tables["framing"]["mss"]).split()[0])
                tables["transport"]["window"] = f"{most_in_flight(topology, payload_bytes)} B"
            warnings = _written(tables, part, brought).warnings()
            brought.warnings += [_renamed(warning, brought) for warning in warnings]
        except AnabranchError as error:
            raise AnabranchError(_of_source(str(error), part, brought)) from None
    brought.files[SCENARIO] = "all of them"
    brought.hosts, brought.nodes = topology["named_hosts"], len(topology["nodes"]["name"])
    brought.links = len(topology["ports"]["from"]) // 2
    return brought


def _written(tables: dict[str, Any], part: Path, brought: Brought) -> Scenario:
    """The scenario of these tables, which its file then has."""
    (part / SCENARIO).write_text(_toml(tables, brought), encoding="utf-8")
    return load(part / SCENARIO)


def _tables(sources: Sources, brought: Brought, contents: dict[str, str]) -> dict[str, Any]:
    """Tables of the scenario; files beside it are added to `contents`."""
    config = sources.config
    fabric = _fabric(sources.topology, brought, contents)
    tables: dict[str, Any] = {"fabric": fabric}
    rdma = sources.topology.kind in ("ns3", "htsim")
    if config is not None:
        fabric |= config.fabric
        tables |= config.tables
        if config.seed is not None:
            tables = {"seed": config.seed} | tables
    elif rdma:
        fabric["preset"] = "lossless-roce"
        tables |= ROCE
        brought.assumed.append(
            "RoCE with DCQCN over PFC, as no configuration says otherwise: [transport], fabric.preset"
        )
    offset_s = _traffic(sources, tables, brought, contents)
    if config is not None and config.link_down is not None:
        after_us, *ends = config.link_down
        kinds = {f"{name}{end}" for end in ends for name in ("host", "switch")}
        names = [name for end in ends for name in (f"host{end}", f"switch{end}") if name in kinds]
        link = "-".join(name for name in names if _is_node(name, sources.topology))
        start = f"{(2 if offset_s is None else 0) * 1_000_000 + float(after_us):g} us"
        tables["change"] = [{"at": start, "link": link, "set": "down"}]
    tables["record"] = {"interval": "0 s"}
    return tables


def _is_node(name: str, topology: Source) -> bool:
    """Whether a name of the reader of ns-3's topologies is a node's: the second line has the switches."""
    rows = list(lines(topology.text))
    switches = {word for row in rows[1:2] for word in row.words}
    number = name.lstrip("abcdefghijklmnopqrstuvwxyz")
    return (number in switches) == name.startswith("switch")


def _fabric(source: Source, brought: Brought, contents: dict[str, str]) -> dict[str, Any]:
    if source.kind in GRAPHS:
        graph: AttributeGraph = GRAPHS[source.kind](source.text, str(source.path))
        graph.check(str(source.path))
        brought.warnings += graph.warnings
        name, kind, content = "topology.graphml", "graphml", graph.graphml()
    else:
        name, kind, content = FILES[source.kind], source.kind, source.text
    contents[name] = content
    brought.files[name] = str(source.path)
    return {"kind": kind, "file": name}


def _mark(config: Config, topology: Mapping[str, Any], tables: dict[str, Any], brought: Brought) -> None:
    """Marks links by their rates: all alike, or link by link where rates and their marks differ.

    Raises:
        AnabranchError: the configuration has no marks for links of a rate.

    """
    fabric, ports = tables["fabric"], topology["ports"]
    servers = topology["hosts"] != topology["named_hosts"]
    # Scale-up switches have no marks there.
    of_cards = [
        bps for node, bps in zip(ports["from"], ports["rate_bps"], strict=True) if node < topology["named_hosts"]
    ]
    rates = sorted(set(of_cards if servers else ports["rate_bps"]))
    if missing := [f"{rate / 1e9:g} Gbps" for rate in rates if rate not in config.marks]:
        keys = "KMIN_MAP, KMAX_MAP, PMAX_MAP"
        raise AnabranchError(f"{config.file}: {keys}: nothing for links of {', '.join(missing)}; add them")
    fabric["link"] = {"ecn": config.marks[rates[0]]}
    if servers:
        # No list of links has them.
        text = f"all links are marked as those of {rates[0] / 1e9:g} Gbps, whatever their rate"
        brought.warnings.append(f"{config.file}: {text}")
    if servers or all(config.marks[rate] == config.marks[rates[0]] for rate in rates):
        return
    kept = {key: value for key, value in fabric.items() if key not in ("kind", "file", "link")}
    tables["fabric"] = graph_table(topology, config.marks) | kept
    tables["change"] = losses(topology) + tables.get("change", [])


def _traffic(sources: Sources, tables: dict[str, Any], brought: Brought, contents: dict[str, str]) -> int | None:
    """Adds the traffic; returns the whole seconds that flows begin earlier than in their file."""
    flows = sources.flows
    if flows is not None and flows.kind == "ns3-flows":
        listed = ns3_flows.read(flows.text, str(flows.path))
        contents["flows.csv"] = listed.csv
        brought.files["flows.csv"] = str(flows.path)
        brought.flows, brought.warnings = listed.flows, brought.warnings + listed.warnings
        if listed.offset_s:
            brought.assumed.append(
                f"flows begin {listed.offset_s} s earlier than in {flows.path}, where nothing happens before"
            )
        tables["traffic"] = [{"kind": "flow-list", "file": "flows.csv"}]
        return listed.offset_s
    if flows is not None:
        contents["flows.cm"] = flows.text
        brought.files["flows.cm"] = str(flows.path)
        tables["traffic"] = [{"kind": "graph", "file": "flows.cm"}]
        return None
    demand: dict[str, Any] = {"kind": "poisson", "pattern": "random-pairs", "sizes": "1 MB"}
    if sources.sizes is not None:
        contents["sizes.csv"] = sizes.read(sources.sizes.text, str(sources.sizes.path))
        brought.files["sizes.csv"] = str(sources.sizes.path)
        demand["sizes"] = {"file": "sizes.csv"}
    tables["traffic"] = [demand | {"load": 0.3, "reference": "host", "duration": "10 ms"}]
    brought.assumed.append(
        "no list of flows was given: hosts send to each other at random, at 30 % of their links for 10 ms: [[traffic]]"
    )
    return None


def _toml(tables: dict[str, Any], brought: Brought) -> str:
    """Text of the scenario, with what was assumed as comments."""
    rows = [f"# {name} comes from {source}" for name, source in brought.files.items()]
    rows += [f"# assumed: {what}" for what in brought.assumed] + [""]
    for name, value in tables.items():
        for entry in value if isinstance(value, list) else [value]:
            if not isinstance(entry, dict):
                rows.append(f"{name} = {literal(entry, name)}")
                continue
            rows.append(f"[[{name}]]" if isinstance(value, list) else f"[{name}]")
            rows += [f"{key} = {literal(one, f'{name}.{key}')}" for key, one in entry.items()]
        rows.append("")
    return "\n".join(rows)


def _renamed(warning: str, brought: Brought) -> str:
    """A warning that begins with a written file, told of the file that it comes from."""
    name, colon, rest = warning.partition(":")
    return f"{brought.files[name]}{colon}{rest}" if name in brought.files else warning


def _of_source(error: str, part: Path, brought: Brought) -> str:
    """An error in a written file, told of the file that it comes from, whose lines it has."""
    for name, source in brought.files.items():
        before, colon, rest = error.partition(f"{name}:")
        if colon and before.startswith(str(part)):
            return f"{source}:{rest}"
    return error.replace(f"{part}/", "")
