"""A scenario's folder from the files of other tools, written whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anabranch._core import Scenario
from anabranch.files.atomic_folder import written_whole
from anabranch.files.errors import AnabranchError
from anabranch.simulate.importing import containerlab, dot, gml, node_link, ns3_flows, sizes
from anabranch.simulate.importing.attribute_graph import AttributeGraph
from anabranch.simulate.importing.longest_path import most_in_flight
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
    tables = _tables(sources, brought, contents := {})
    with written_whole(folder) as part:
        for name, content in contents.items():
            (part / name).write_text(content, encoding="utf-8")
        try:
            topology = _written(tables, part, brought).topology()
            if tables.get("transport", {}).get("recovery") == "selective":
                payload_bytes = int(str(tables["framing"]["mss"]).split()[0])
                tables["transport"]["window"] = f"{most_in_flight(topology, payload_bytes)} B"
            brought.warnings += _written(tables, part, brought).warnings()
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
        _marks(sources, fabric, brought)
    elif rdma:
        fabric["preset"] = "lossless-roce"
        tables |= ROCE
        brought.assumed.append("RoCE with DCQCN over PFC, as no configuration says otherwise: [transport], fabric.preset")
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


def _marks(sources: Sources, fabric: dict[str, Any], brought: Brought) -> None:
    """Sets the marks of all links, where the configuration has one setting for their rates."""
    config = sources.config
    assert config is not None  # noqa: S101
    rates = {_bps(words[2]) for _, words in lines(sources.topology.text) if len(words) == 5 and _bps(words[2])}
    marks = [config.marks[rate] for rate in sorted(rates) if rate in config.marks]
    if config.marks and len(marks) < len(rates):
        missing = ", ".join(f"{rate / 1e9:g} Gbps" for rate in sorted(rates) if rate not in config.marks)
        raise AnabranchError(f"{config.file}: KMIN_MAP, KMAX_MAP, PMAX_MAP: nothing for links of {missing}; add them")
    if marks:
        fabric["link"] = {"ecn": marks[0]}
        if any(one != marks[0] for one in marks):
            slowest = min(rates) / 1e9
            brought.warnings.append(
                f"{config.file}: marks differ by the rate of links; all have those of {slowest:g} Gbps here"
            )


def _bps(rate: str) -> int | None:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKMGT])b(?:ps|/s)", rate)
    scale = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    return round(float(match[1]) * scale[match[2]]) if match else None


def _traffic(sources: Sources, tables: dict[str, Any], brought: Brought, contents: dict[str, str]) -> int | None:
    """Adds the traffic; returns the whole seconds that flows begin earlier than in their file."""
    flows = sources.flows
    if flows is not None and flows.kind == "ns3-flows":
        listed = ns3_flows.read(flows.text, str(flows.path))
        contents["flows.csv"] = listed.csv
        brought.files["flows.csv"] = str(flows.path)
        brought.flows, brought.warnings = listed.flows, brought.warnings + listed.warnings
        if listed.offset_s:
            brought.assumed.append(f"flows begin {listed.offset_s} s earlier than in {flows.path}, where nothing happens before")
        tables["traffic"] = [{"kind": "flow-list", "file": "flows.csv"}]
        return listed.offset_s
    if flows is not None:
        contents["flows.cm"] = flows.text
        brought.files["flows.cm"] = str(flows.path)
        tables["traffic"] = [{"kind": "graph", "file": "flows.cm"}]
        return None
    demand: dict[str, Any] = {"kind": "poisson", "sizes": "web-search"}
    if sources.sizes is not None:
        contents["sizes.csv"] = sizes.read(sources.sizes.text, str(sources.sizes.path))
        brought.files["sizes.csv"] = str(sources.sizes.path)
        demand["sizes"] = {"file": "sizes.csv"}
    tables["traffic"] = [demand | {"load": 0.3, "reference": "host", "duration": "10 ms"}]
    brought.assumed.append("no list of flows was given: hosts send to each other at random, at 30 % of their links for 10 ms: [[traffic]]")
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


def _of_source(error: str, part: Path, brought: Brought) -> str:
    """An error in a written file, told of the file that it comes from, whose lines it has."""
    for name, source in brought.files.items():
        before, found, rest = error.partition(f"{name}:")
        if found and before.startswith(str(part)):
            return f"{source}:{rest}"
    return error.replace(f"{part}/", "")
