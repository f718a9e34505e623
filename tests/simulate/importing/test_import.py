"""`anabranch import`: files of other tools, of our own making in their formats, become scenarios; faults are named."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.files.errors import AnabranchError
from anabranch.simulate.importing import sources
from anabranch.simulate.importing.bring import FILES, bring
from anabranch.simulate.runs.load import load
from support.command import anabranch
from support.zebra_routes import PLANS

ROOT = Path(__file__).resolve().parents[3]
TOPOLOGY = """\
6 2 5
4 5
0 4 100Gbps 1000ns 0
1 4 100Gbps 1000ns 0
2 5 100Gbps 1000ns 0
3 5 100Gbps 1000ns 0.001
4 5 400Gbps 0.002ms 0
"""
FLOWS = "3\n0 2 3 1000 2.000000294\n3 1 3 25000 2.0001\n1 3 3 7 2.5\n"
CONFIG = """\
TOPOLOGY_FILE config/fabric.txt
FLOW_FILE config/flows.txt
FCT_OUTPUT_FILE mix/fct.txt
CC_MODE 1
LB_MODE 9
ENABLE_PFC 1
ENABLE_IRN 0
PACKET_PAYLOAD_SIZE 1000
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
RP_TIMER 900
RATE_AI 40Mb/s
BUFFER_SIZE 9
CONWEAVE_PATH_PAUSE_TIME 8
KMIN_MAP 2 100000000000 100 400000000000 400
KMAX_MAP 2 100000000000 400 400000000000 1600
PMAX_MAP 2 100000000000 0.2 400000000000 0.2
RANDOM_SEED 7
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of conweave-ns3's form."""
    (tmp_path / "theirs" / "config").mkdir(parents=True)
    (tmp_path / "theirs" / "config" / "fabric.txt").write_text(TOPOLOGY)
    (tmp_path / "theirs" / "config" / "flows.txt").write_text(FLOWS)
    (tmp_path / "theirs" / "config.txt").write_text(CONFIG)
    return tmp_path / "theirs"


def test_a_folder_becomes_a_scenario_that_runs(folder: Path, tmp_path: Path) -> None:
    brought = bring([folder], tmp_path / "ours")
    assert (brought.hosts, brought.nodes, brought.links, brought.flows) == (4, 6, 5, 3)
    assert brought.files["flows.csv"] == str(folder / "config" / "flows.txt")
    flows = (tmp_path / "ours" / "flows.csv").read_text().splitlines()
    # The decimal 2.000000294 is a little less as a binary fraction, of which ns-3 keeps whole nanoseconds.
    assert flows[1:] == ["0,host0,host2,1000,293", "1,host3,host1,25000,100000", "2,host1,host3,7,500000000"]
    resolved = load(tmp_path / "ours" / "scenario.toml").resolved_toml()
    for line in (
        "seed = 7",
        'preset = "lossless-roce"',
        'size = "9437184 B"',
        'additive = "40 Mbps"',
        'increase_interval = "900 us"',
        'balance = "conweave"',
        'pause = "8 us"',
    ):
        assert line in resolved, line
    results = ab.run(tmp_path / "ours" / "scenario.toml", {"stop.at": "1 s"}, runs=tmp_path / "runs", progress=False)
    assert results.flows["fct_ns"].null_count() == 0


def test_links_of_several_rates_are_marked_each_by_its_own(folder: Path, tmp_path: Path) -> None:
    bring([folder], tmp_path / "ours")
    scenario = load(tmp_path / "ours" / "scenario.toml")
    ports = scenario.topology()["ports"]
    low = {rate // 10**9: mark for rate, mark in zip(ports["rate_bps"], ports["mark_bytes"], strict=True) if mark}
    # 1,049 B of each queue are guaranteed there and count for no mark.
    assert low == {100: 101_049, 400: 401_049}
    lossy = [(one["what"], one["value"]) for one in scenario.topology()["changes"]]
    assert lossy == [("port_loss", 0.001)] * 2


def test_a_file_is_enough_and_what_no_file_says_is_told(tmp_path: Path) -> None:
    (tmp_path / "topology.txt").write_text(TOPOLOGY)
    brought = bring([tmp_path / "topology.txt"], tmp_path / "ours")
    assert [what.split(":")[0] for what in brought.assumed] == [
        "RoCE with DCQCN over PFC, as no configuration says otherwise",
        "no list of flows was given",
    ]
    text = (tmp_path / "ours" / "scenario.toml").read_text()
    assert all(f"# assumed: {what}\n" in text for what in brought.assumed)
    changes = load(tmp_path / "ours" / "scenario.toml").topology()["changes"]
    # Port 7 sends from the switch to host 3: the fourth link of the file.
    assert [(one["port"], one["value"]) for one in changes] == [(6, 0.001), (7, 0.001)]


def test_sizes_of_hpcc_are_the_traffic_where_there_are_no_flows(tmp_path: Path) -> None:
    (tmp_path / "topology.txt").write_text(TOPOLOGY)
    (tmp_path / "cdf.txt").write_text("0 0\n4000 22.93\n8000 69.21\n2000000 100\n")
    bring([tmp_path], tmp_path / "ours")
    sizes = (tmp_path / "ours" / "sizes.csv").read_text()
    assert sizes == "size_bytes,cdf\n0,0\n4000,0.2293\n8000,0.6921\n2000000,1\n"
    load(tmp_path / "ours" / "scenario.toml")


GML = """\
graph [
  node [ id 0 label "a" type "host" ]
  node [ id 1 label "b" type "host" ]
  node [ id 2 label "s" type "spine" ]
  edge [ source 0 target 2 LinkSpeedRaw 25000000000.0 ]
  edge [
    source 1 target 2
    rate "40 Gbps" delay_us 3
  ]
]
"""
DOT = """\
graph {
  node [type=host]; a; b  // defaults
  edge [rate="25 Gbps"]
  { node [type=spine, shape=box]; s }
  a -- s; b:e -- s [rate="40 Gbps", delay="3 us", color=red]
}
"""
NODE_LINK = json.dumps(
    {
        "directed": True,
        "graph": {"rate_unit": "Gbps"},
        "nodes": [{"id": "a", "type": "host"}, {"id": 7, "name": "b", "type": "host"}, {"id": "s", "type": "spine"}],
        "links": [
            {"source": a, "target": b} | rate
            for ends, rate in ((("a", "s"), {"rate": 25}), ((7, "s"), {"rate": 40.0, "delay_us": 3}))
            for a, b in (ends, ends[::-1])
        ],
    }
)
CONTAINERLAB = """\
name: lab
topology:
  nodes:
    a: {kind: linux}
    b: {kind: linux}
    s: {kind: nokia_srlinux, type: ixr-d2l}
    router: {kind: linux}
    console: {kind: linux}
  links:
    - endpoints: ["a:eth1", "s:e1-1"]
    - type: veth
      endpoints: [{node: b, interface: eth1}, {node: router, interface: eth0}]
    - endpoints: ["router:eth1", "s:e1-2"]
    - type: host
      endpoint: {node: console, interface: eth9}
"""
TOPO = """\
Nodes 4
Tiers 2
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Downlink_Latency_ns 1000
"""


@pytest.mark.parametrize(("name", "text"), [("g.gml", GML), ("g.dot", DOT), ("g.json", NODE_LINK)])
def test_graphs_of_every_format_are_the_same_fabric(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    bring([tmp_path / name], tmp_path / "ours")
    topology = load(tmp_path / "ours" / "scenario.toml").topology()
    assert topology["nodes"]["name"] == ["a", "b", "s"]
    assert topology["nodes"]["tier"] == ["host", "host", "spine"]
    ports = topology["ports"]
    links = list(zip(ports["from"], ports["to"], ports["rate_bps"], ports["delay_ns"], strict=True))
    assert links == [
        (0, 2, 25_000_000_000, 1000.0),
        (2, 0, 25_000_000_000, 1000.0),
        (1, 2, 40_000_000_000, 3000.0),
        (2, 1, 40_000_000_000, 3000.0),
    ]


def test_labs_of_containerlab_have_hosts_where_linux_has_one_link(tmp_path: Path) -> None:
    (tmp_path / "lab.clab.yml").write_text(CONTAINERLAB)
    brought = bring([tmp_path], tmp_path / "ours")
    topology = load(tmp_path / "ours" / "scenario.toml").topology()
    assert (topology["nodes"]["name"], topology["hosts"]) == (["a", "b", "s", "router"], 2)
    assert brought.warnings[0].endswith("lab.clab.yml: nodes without a link to another are left out: console")
    assert "lab.clab.yml: 3 of 3 edges give no rate, and have 10 Gbps; set fabric.link.rate" in brought.warnings[1]


def test_a_matrix_of_htsim_beside_its_topology_is_the_traffic(tmp_path: Path) -> None:
    (tmp_path / "small.topo").write_text(TOPO)
    (tmp_path / "two.cm").write_text(
        "Nodes 4\nConnections 2\n0->3 id 1 start 0 size 10000\n1->2 id 2 start 0 size 500\n"
    )
    brought = bring([tmp_path], tmp_path / "ours")
    assert (brought.hosts, brought.nodes, brought.links) == (4, 8, 8)
    results = ab.run(tmp_path / "ours" / "scenario.toml", runs=tmp_path / "runs", progress=False)
    assert results.flows["size_bytes"].sort().to_list() == [500, 10000]


SIMAI = """\
8 2 2 2 12 H100
4 5 6 7
0 4 2400Gbps 0.000025ms 0
0 6 400Gbps 0.0005ms 0
1 4 2400Gbps 0.000025ms 0
1 7 400Gbps 0.0005ms 0
2 5 2400Gbps 0.000025ms 0
2 6 400Gbps 0.0005ms 0
3 5 2400Gbps 0.000025ms 0
3 7 400Gbps 0.0005ms 0
6 7 400Gbps 0.0005ms 0
"""
SAMPLES = {
    "`topology.txt`": {"topology.txt": TOPOLOGY},
    "`topology.txt` with servers": {"Rails_4g": SIMAI.replace("2 12 H100", "2 9 H100")},
    "`.topo`": {"small.topo": TOPO},
    "GraphML": {
        "g.graphml": '<graphml><graph><node id="a"/><node id="s"/><edge source="a" target="s"/><node id="b"/>'
        '<edge source="b" target="s"/></graph></graphml>'
    },
    "GML": {"g.gml": GML},
    "DOT": {"g.dot": DOT},
    "node-link JSON": {"g.json": NODE_LINK},
    "`.clab.yml`": {"lab.clab.yml": CONTAINERLAB},
    "`flow.txt`": {"topology.txt": TOPOLOGY, "flow.txt": FLOWS},
    "size distribution": {"topology.txt": TOPOLOGY, "cdf.txt": "0 0\n4000 22.93\n8000 100\n"},
    "`config.txt`, `SimAI.conf`": {
        "topology.txt": TOPOLOGY,
        "SimAI.conf": CONFIG.replace("TOPOLOGY_FILE config/fabric.txt\nFLOW_FILE config/flows.txt\n", ""),
    },
    "`.cm`": {"small.topo": TOPO, "two.cm": "Nodes 4\nConnections 1\n0->3 id 1 start 0 size 10000\n"},
}
"""Files of each row of the page's table that becomes a scenario."""


@pytest.mark.parametrize("row", SAMPLES)
def test_each_row_of_the_page_is_read(row: str, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    for name, text in SAMPLES[row].items():
        (tmp_path / "theirs" / name).write_text(text)
    brought = bring([tmp_path / "theirs"], tmp_path / "ours")
    assert {Path(source).name for source in brought.files.values()} - {"all of them"} == {
        name for name in SAMPLES[row] if not name.endswith(".conf")
    }
    assert brought.hosts == (2 if row in ("GraphML", "GML", "DOT", "node-link JSON", "`.clab.yml`") else 4)


def test_the_page_has_these_rows_and_says_how_fabric_file_reads_them() -> None:
    page = (ROOT / "docs" / "bring-your-own.md").read_text()
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| ")][1:]
    rows = [row for row in rows if "anabranch import" in row[2]]
    assert [row[0].strip() for row in rows] == [*SAMPLES, *PLANS]
    kinds = {word for row in rows for word in re.findall(r'fabric\.kind = "([\w-]+)"', row[2])}
    assert kinds == set(FILES)


def test_a_fabric_file_that_only_import_reads_says_so(tmp_path: Path) -> None:
    (tmp_path / "g.gml").write_text(GML)
    scenario = {"fabric": {"kind": "graphml", "file": str(tmp_path / "g.gml")}, "traffic": [{"load": 0.1, "flows": 1}]}
    with pytest.raises(AnabranchError, match=r"g.gml:1: not XML.*`anabranch import FILE` reads these and GML, DOT"):
        load(scenario)


FAULTS: list[tuple[str, str, str, str]] = [
    ("config/fabric.txt", "0.002ms", "soon", "config/fabric.txt:7: link 4 - 5: delay: `soon` is no time; give"),
    ("config/fabric.txt", "2 5 100", "2 9 100", "config/fabric.txt:5: link: `9` is out of range; give"),
    ("config/flows.txt", "3 1 3 25000", "3 1 3 x", "config/flows.txt:3: size: `x` is no whole number; write"),
    ("config/flows.txt", "3 1 3", "3 3 3", "config/flows.txt:3: src and dst are both 3; give two hosts"),
    ("config/flows.txt", "3\n0 2", "4\n0 2", "config/flows.txt:1: 3 flows where the first line says 4; count them"),
    (
        "config/flows.txt",
        "1 3 3 7",
        "1 5 3 7",
        "config/flows.txt:4: column `dst`: `host5` is out of range; give a host",
    ),
    ("config/flows.txt", "2.5\n", "then\n", "config/flows.txt:4: start: `then` is no time; give seconds"),
    ("config.txt", "CC_MODE 1", "CC_MODE 8", "config.txt:4: CC_MODE: 8: DCTCP, which this simulator has not; set one"),
    ("config.txt", "LB_MODE 9", "LB_MODE 4", "config.txt:5: LB_MODE: 4 is no load balancer that this simulator has"),
    ("config.txt", "RP_TIMER 900", "RP_TIMER x", "config.txt:11: RP_TIMER: `x` is no number; give it"),
    ("config.txt", "KMIN_MAP 2", "KMIN_MAP 3", "config.txt:15: KMIN_MAP: `3 100000000000 100"),
    (
        "config.txt",
        "400000000000 400",
        "40000000000 400",
        "config.txt: KMIN_MAP, KMAX_MAP, PMAX_MAP: nothing for links",
    ),
]


@pytest.mark.parametrize(("file", "old", "new", "expected"), FAULTS)
def test_a_fault_is_named_by_file_and_line_and_nothing_is_written(
    file: str, old: str, new: str, expected: str, folder: Path, tmp_path: Path
) -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    with pytest.raises(AnabranchError) as caught:
        bring([folder], tmp_path / "ours")
    assert str(caught.value).startswith(f"{folder}/{expected}"), caught.value
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


def test_keys_that_change_results_and_are_not_taken_over_are_warned_of(folder: Path, tmp_path: Path) -> None:
    with (folder / "config.txt").open("a") as file:
        file.write(
            "L2_ACK_INTERVAL 4\nHAS_WIN 1\nNEW_KEY 1 2\nL2_CHUNK_SIZE 4000\nQLEN_MON_FILE mix/q.txt\nLINK_DOWN 50 4 5\n"
        )
    brought = bring([folder], tmp_path / "ours")
    assert [warning.removeprefix(f"{folder}/config.txt:") for warning in brought.warnings[:3]] == [
        "20: HAS_WIN 1: dcqcn has no window here; not taken over",
        "19: L2_ACK_INTERVAL 4: here it is as with 1; not taken over",
        "21: NEW_KEY 1 2: unknown, and not taken over",
    ]
    changes = load(tmp_path / "ours" / "scenario.toml").topology()["changes"]
    assert [(one["what"], one["at_ns"]) for one in changes[2:]] == [("port_down", 50_000.0)] * 2


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("g.gml", GML.replace('"40 Gbps"', '"40 Gbs"'), "g.gml:8: edge 1 - 2: rate: `40 Gbs` is no rate; give"),
        ("g.gml", GML.replace("delay_us 3", "bw 3"), "g.gml:8: edge 1 - 2: bw: `3`: it looks like a rate or a delay"),
        (
            "g.gml",
            GML.replace("target 2 LinkSpeedRaw", "target 5 LinkSpeedRaw"),
            "g.gml:5: edge: its target 5 is no node",
        ),
        ("g.gml", GML.replace("id 1", "nr 1"), "g.gml:3: node: no id; write it"),
        ("g.gml", GML.replace('Gbps"', "Gbps"), "g.gml:8: a text without its closing quote"),
        ("g.gml", GML.replace("source 0", "source"), "g.gml:5: source: `target` is no number, text in quotes or list"),
        ("g.gml", GML[:-3], "g.gml: a list without its closing bracket"),
        ("g.dot", DOT.replace("a -- s", "a -- "), "g.dot:5: not DOT: "),
        ("g.dot", DOT.replace("40 Gbps", "fast"), "g.dot: edge b - s: rate: `fast` is no rate; give"),
        ("g.json", NODE_LINK.replace('"source": 7', '"source": 8'), "g.json: edge: its source 8 is no node"),
        ("g.json", NODE_LINK[:-1], "g.json:1: not JSON: "),
        ("g.json", NODE_LINK.replace('"links"', '"arcs"'), "g.json: no lists `nodes` and `links`; write it"),
        ("l.clab.yml", CONTAINERLAB.replace("a:eth1", ":eth1"), "l.clab.yml:10: link: :eth1: no node; write"),
        (
            "l.clab.yml",
            CONTAINERLAB.replace("{kind: linux}\n    b", "{}\n    b"),
            "l.clab.yml:4: node a: no kind; give",
        ),
        ("l.clab.yml", CONTAINERLAB.replace("{kind: linux}", "{kind: linux"), "l.clab.yml:"),
        ("s.topo", TOPO.replace("Radix_Up 2", "Radix_Upp 3"), "s.topo:7: `Radix_Upp` is unknown; known here"),
        ("notes.txt", "hello world\n", "notes.txt: nothing that can be imported; give"),
    ],
)
def test_faults_of_graphs_are_named(name: str, text: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(AnabranchError) as caught:
        bring([tmp_path / name], tmp_path / "ours")
    assert str(caught.value).startswith(f"{tmp_path}/{expected}"), caught.value
    assert not (tmp_path / "ours").exists()


def test_a_folder_of_too_many_files_is_refused_rather_than_read_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "FILES_MOST", 3)
    for name in ("a.gml", "b.md", "c.md", "d.md"):
        (tmp_path / name).write_text(GML)
    with pytest.raises(AnabranchError, match="more than 3 files; name those to import"):
        bring([tmp_path], tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_several_topologies_of_a_folder_are_named(tmp_path: Path) -> None:
    for name in ("a.gml", "b.gml"):
        (tmp_path / name).write_text(GML)
    with pytest.raises(AnabranchError, match=r"more than one topology: .*a.gml, .*b.gml; name the files"):
        bring([tmp_path], tmp_path / "ours")
    (tmp_path / "empty").mkdir()
    with pytest.raises(AnabranchError, match="empty: no topology; give a file"):
        bring([tmp_path / "empty"], tmp_path / "ours")
    (tmp_path / "ours").mkdir()
    with pytest.raises(AnabranchError, match="ours: exists; give a new folder by --into"):
        bring([tmp_path / "a.gml"], tmp_path / "ours")


FABRICS = {
    "clos": 'kind = "clos"',
    "leaf-spine": 'kind = "leaf-spine"',
    "vl2": 'kind = "vl2"',
    "dual ToR": 'kind = "clos"\nlinks_per_host = 2',
    "rails": 'kind = "rail-optimised"\nsegments = 2\nservers_per_segment = 3\naccelerators_per_server = 2',
    "planes": 'kind = "multi-plane"',
    "Slim Fly": 'kind = "slim-fly"\nq = 3\nhosts_per_router = 1',
}


@pytest.mark.parametrize("shape", FABRICS.values(), ids=FABRICS)
@pytest.mark.parametrize(("kind", "file"), [("graphml", "one.graphml"), ("ns3", "topology.txt")])
def test_a_fabric_that_is_written_is_read_as_the_same(kind: str, file: str, shape: str, tmp_path: Path) -> None:
    traffic = '[[traffic]]\nload = 0.1\nflows = 1\nreference = "host"\n'
    (tmp_path / "one.toml").write_text(
        f'[fabric]\n{shape}\nhost_link = {{ rate = "25 Gbps", delay = "1.5 ns" }}\n{traffic}'
    )
    assert anabranch("show", "one.toml", "--out", file, cwd=tmp_path).returncode == 0
    assert sources.kind_of(tmp_path / file, (tmp_path / file).read_text()) == kind
    (tmp_path / "two.toml").write_text(f'[fabric]\nkind = "{kind}"\nfile = "{file}"\n{traffic}')
    one, two = (load(tmp_path / name).topology() for name in ("one.toml", "two.toml"))
    assert (one["named_hosts"], one["accelerators"]) == (two["named_hosts"], two["accelerators"])
    assert sorted(links(one, kind)) == sorted(links(two, kind))
    assert sorted(one["nodes"]["tier"]) == sorted(two["nodes"]["tier"])
    if shape in ('kind = "clos"', 'kind = "leaf-spine"', 'kind = "vl2"'):
        assert one["ports"] == two["ports"]
    if kind == "graphml":
        pods = [dict(zip(each["nodes"]["name"], each["nodes"]["pod"], strict=True)) for each in (one, two)]
        assert all(pods[0][name] == pod for name, pod in pods[1].items() if "." not in name)
    else:
        # Counts by a reader of its own: switches and links as the first line says.
        first, switches, *rest = (tmp_path / file).read_text().splitlines()
        counts = [int(word) for word in first.split() if word != "accelerator"]
        assert counts[0] == one["named_hosts"] + len(switches.split())
        assert (sum(counts[-3:-1]) if len(counts) > 3 else counts[1]) == len(switches.split())
        assert counts[-1] == len(rest)


def test_costs_that_a_file_does_not_say_are_warned_of(tmp_path: Path) -> None:
    for kind, warned in (("dragonfly", True), ("slim-fly", False)):
        (tmp_path / "one.toml").write_text(f'[fabric]\nkind = "{kind}"\n[[traffic]]\nkind = "once"\n')
        done = anabranch("show", "one.toml", "--out", "one.graphml", cwd=tmp_path)
        assert done.returncode == 0
        assert ("links of unlike costs to routing" in done.stderr) == warned


def test_servers_that_simai_has_no_words_for_are_refused(tmp_path: Path) -> None:
    nodes = ", ".join(f'{{ name = "up{number}", tier = "scale-up" }}' for number in range(3))
    ends = [*(("a", f"up{number}") for number in range(3)), ("b", "up0"), ("a", "s"), ("b", "s")]
    edges = ", ".join(f'{{ from = "{low}", to = "{high}" }}' for low, high in ends)
    hosts = '{ name = "a", tier = "host" }, { name = "b", tier = "host" }'
    (tmp_path / "one.toml").write_text(f'[fabric]\nkind = "graph"\nnode = [{hosts}, {nodes}]\nedge = [{edges}]\n')
    refused = anabranch("show", "one.toml", "--out", "topology.txt", "-o", 'traffic.kind="once"', cwd=tmp_path)
    assert refused.returncode == 2
    assert "out: servers of SimAI have as many accelerators each" in refused.stderr
    assert not (tmp_path / "topology.txt").exists()


def links(topology: dict[str, Any], kind: str) -> list[tuple[str, str, int, float]]:
    """Ports by their ends, with rate and delay: hosts by number, cards and scale-up ports by that of their host.

    Switches have their names, but in ns-3's files, which keep none, their tier.
    """
    nodes, ports, named = topology["nodes"], topology["ports"], topology["named_hosts"]
    names = [name if kind == "graphml" else tier for name, tier in zip(nodes["name"], nodes["tier"], strict=True)]
    names[:named] = [f"host {host}" for host in range(named)]
    names[named : topology["hosts"]] = [f"port of host {host}" for host in topology["accelerators"]]
    for low, high in zip(ports["from"], ports["to"], strict=True):
        if nodes["tier"][low] == "host" and nodes["tier"][high] == "nic":
            names[high] = f"card of {names[low]}"
    columns = (ports[key] for key in ("from", "to", "rate_bps", "delay_ns"))
    return [(names[low], names[high], rate, delay) for low, high, rate, delay in zip(*columns, strict=True)]


def test_directions_that_differ_are_two_edges(tmp_path: Path) -> None:
    edges = 'edge = [{ from = "a", to = "s", back = { rate = "1 Gbps" } }, { from = "b", to = "s" }]'
    (tmp_path / "one.toml").write_text(
        f'[fabric]\nkind = "graph"\n{edges}\n[[traffic]]\nkind = "once"\npattern = "random-pairs"\n'
    )
    assert anabranch("show", "one.toml", "--out", "one.graphml", cwd=tmp_path).returncode == 0
    refused = anabranch("show", "one.toml", "--out", "one.txt", cwd=tmp_path)
    assert refused.returncode == 2
    assert "out: link a-s differs by direction" in refused.stderr
    assert not (tmp_path / "one.txt").exists()
    (tmp_path / "two.toml").write_text(
        '[fabric]\nkind = "graphml"\nfile = "one.graphml"\n[[traffic]]\nkind = "once"\npattern = "random-pairs"\n'
    )
    one, two = (load(tmp_path / name).topology() for name in ("one.toml", "two.toml"))
    assert one["ports"] == two["ports"]
    assert two["ports"]["rate_bps"][:2] == [10_000_000_000, 1_000_000_000]
