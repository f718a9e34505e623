"""The fabric over time in a real browser: colours and numbers of the slider's interval, changes, paths of a flow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import anabranch as ab
from anabranch import _core
from anabranch.report.page.explore.cells import Cells
from anabranch.report.page.explore.fabric_shape import carriers, shape
from anabranch.report.page.explore.fabric_view import BYTES_MAX, RUNS_MAX, _chosen
from anabranch.report.page.explore.port_times import BYTES, UTILIZATION_STEP, port_times
from anabranch.report.page.explore.slowest_flows import FLOWS_MAX, slowest_flows
from anabranch.report.page.web_page import source
from anabranch.simulate.study.outcome import Cell
from support.browser import Browser, Page, need_browser, running
from support.command import anabranch
from support.synthetic import fat_tree, leaf_spine, ports, topology, write_run

INTERVALS = 40
INTERVAL_NS = 1_000_000
# Hosts 0 to 31, leaves 32 to 35; ports 64 and 65 are leaf0 to spine0 and back, 66 leaf0 to spine1.
LINK, BACK, SLOW = 64, 65, 66


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running(need_browser(), tmp_path_factory.mktemp("profile")) as found:
        yield found


def busy_ports(fabric: dict[str, Any]) -> pl.DataFrame:
    """Forty intervals, all different."""
    random = np.random.default_rng(5)
    number = len(fabric["ports"]["from"])
    parts = []
    for interval in range(INTERVALS):
        part = ports(fabric, random.uniform(0, 1, number).tolist(), INTERVAL_NS)
        parts.append(
            part.with_columns(
                start_ns=pl.col("start_ns") + interval * INTERVAL_NS,
                backlog_max_bytes=pl.Series(random.integers(0, 300_000, number)),
                dropped_packets=pl.Series(random.poisson(0.1, number)),
                lost_packets=pl.Series(random.poisson(0.05, number)),
            )
        )
    return pl.concat(parts)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ab.Run:
    """A link is down from 10 to 30 ms, in both directions; another is slow from the start."""
    fabric = leaf_spine(4, 4, 8)
    fabric["changes"] = [
        {"at_ns": 0, "what": "port_rate", "port": SLOW, "value": 2.5e9},
        {"at_ns": 10 * INTERVAL_NS, "what": "port_down", "port": LINK, "value": None},
        {"at_ns": 10 * INTERVAL_NS, "what": "port_down", "port": BACK, "value": None},
        {"at_ns": 30 * INTERVAL_NS, "what": "port_up", "port": LINK, "value": None},
        {"at_ns": 30 * INTERVAL_NS, "what": "port_up", "port": BACK, "value": None},
    ]
    folder = write_run(tmp_path_factory.mktemp("runs") / "run", fabric, 1)
    busy_ports(fabric).write_parquet(folder / "ports.parquet")
    flows = pl.read_parquet(folder / "flows.parquet").with_columns(
        start_ns=pl.col("flow").cast(pl.Float64) * INTERVALS * INTERVAL_NS / 2000
    )
    flows.write_parquet(folder / "flows.parquet")
    return ab.Run(folder)


@pytest.fixture(scope="module")
def file(run: ab.Run) -> Path:
    out = run.folder.parent / "page.html"
    return page_of(out, run.folder)


def page_of(out: Path, folder: Path) -> Path:
    """Page of a run."""
    done = anabranch("report", str(folder), "--out", str(out))
    assert done.returncode == 0, done.stderr
    return out


def said(page: Page) -> str:
    """Numbers of the chosen link, in words."""
    text: str = page.evaluate("document.getElementById('fabric-value').textContent")
    return text


def row_of(run: ab.Run, port: int, interval: int) -> dict[str, Any]:
    """Row of ports.parquet."""
    return run.ports.filter(port=port, start_ns=interval * INTERVAL_NS).row(0, named=True)


def test_the_slider_shows_the_numbers_of_its_interval(browser: Browser, file: Path, run: ab.Run) -> None:
    page = browser.open(file)
    page.choose("link", "2")
    assert carriers(run.topology)[2].ports == [SLOW]
    page.evaluate("document.getElementById('fabric-time').focus()")
    for interval in range(4):
        row = row_of(run, SLOW, interval)
        assert said(page).startswith(f"leaf0 to spine1: utilisation {100 * row['utilization']:.2f} %, ")
        assert said(page).endswith(f"drops and losses {row['dropped_packets'] + row['lost_packets']} packets")
        page.press("ArrowRight")
    assert page.evaluate("document.getElementById('fabric-interval').textContent") == "4 ms to 5 ms"
    # The chart of the link over time has the same numbers.
    drawn = page.evaluate("Array.from(document.getElementById('fabric-over-time').chart.data[1])")
    of_file = run.ports.filter(port=SLOW).sort("start_ns")["utilization"].to_numpy()
    assert drawn == pytest.approx(100 * of_file, abs=51 * UTILIZATION_STEP)
    page.choose("link-measure", "backlog")
    drawn = page.evaluate("Array.from(document.getElementById('fabric-over-time').chart.data[1])")
    assert drawn == run.ports.filter(port=SLOW).sort("start_ns")["backlog_max_bytes"].to_list()
    page.choose("link-measure", "drops")
    drawn = page.evaluate("Array.from(document.getElementById('fabric-over-time').chart.data[1])")
    lost = run.ports.filter(port=SLOW).sort("start_ns").select(pl.col("dropped_packets") + pl.col("lost_packets"))
    assert drawn == lost.to_series().to_list()
    assert page.complaints == page.requests == []


def test_a_click_on_a_link_chooses_it_and_colours_follow_the_time(browser: Browser, file: Path, run: ab.Run) -> None:
    page = browser.open(file)
    x, y = page.evaluate("""(() => {
        const hit = document.querySelectorAll("#fabric-drawing .hits line")[0];
        hit.scrollIntoView({ block: "center" });
        const box = document.querySelector("#fabric-drawing svg").getBoundingClientRect();
        const at = (name) => Number(hit.getAttribute(name));
        return [box.x + at("x1") + 0.3 * (at("x2") - at("x1")), box.y + at("y1") + 0.3 * (at("y2") - at("y1"))];
    })()""")
    page.choose("link", "2")
    page.mouse("mousePressed", x, y)
    page.mouse("mouseReleased", x, y)
    assert said(page).startswith("leaf0 to spine0: ")
    assert page.evaluate("document.querySelector('select[name=link]').value") == "0"
    strokes = "[...document.querySelectorAll('#fabric-drawing .links line')].map((one) => one.getAttribute('stroke'))"
    before = page.evaluate(strokes)
    page.evaluate("document.getElementById('fabric-time').focus()")
    page.press("ArrowRight")
    after = page.evaluate(strokes)
    assert sum(a != b for a, b in zip(before, after, strict=True)) > 30
    # The hottest colour is the busiest port's: red falls and darkens towards the end of the scale.
    busiest = max(range(32), key=lambda carrier: row_of(run, 64 + carrier, 1)["utilization"])
    reds = [tuple(map(int, one[4:-1].split(","))) for one in after[:32]]
    assert min(range(32), key=lambda carrier: sum(reds[carrier])) == busiest


def test_changes_are_shown_at_their_time(browser: Browser, file: Path) -> None:
    page = browser.open(file)
    down = "document.querySelectorAll('#fabric-drawing .links line.down').length"
    words = "[...document.querySelectorAll('#fabric-drawing text.change')].map((one) => one.textContent)"
    assert (page.evaluate(down), page.evaluate(words)) == (0, ["2.5 Gbps"])
    moments = page.evaluate("[...document.querySelectorAll('#fabric-changes li')].map((one) => one.textContent)")
    assert moments == ["0 leaf0 to spine1: 2.5 Gbps", "10 ms leaf0 to spine0: down", "30 ms leaf0 to spine0: up"]
    page.click("#fabric-changes li:nth-child(2) button")
    assert page.evaluate("document.getElementById('fabric-interval').textContent") == "10 ms to 11 ms"
    assert (page.evaluate(down), page.evaluate(words)) == (2, ["down", "2.5 Gbps"])
    page.evaluate("document.getElementById('fabric-time').focus()")
    page.press("ArrowLeft")
    assert (page.evaluate(down), page.evaluate(words)) == (0, ["2.5 Gbps"])
    page.click("#fabric-changes li:nth-child(3) button")
    assert (page.evaluate(down), page.evaluate(words)) == (0, ["2.5 Gbps"])


def test_play_goes_through_the_intervals(browser: Browser, file: Path) -> None:
    page = browser.open(file)
    page.click("#fabric-play")
    page.evaluate("""new Promise((done) => {
        const slider = document.getElementById("fabric-time");
        const look = () => (Number(slider.value) >= 3 ? done() : requestAnimationFrame(look));
        look();
    })""")
    page.click("#fabric-play")
    assert page.evaluate("document.getElementById('fabric-play').textContent") == "Play"


def test_a_click_on_a_flow_shows_its_paths(browser: Browser, file: Path, run: ab.Run) -> None:
    """Flows go from leaf0 to leaf1, over four spines; while spine0's link to leaf0 is down, three paths are whole."""
    page = browser.open(file)
    slowest = run.flows.filter(pl.col("finished")).sort("slowdown", descending=True).head(FLOWS_MAX)
    cells = page.evaluate(
        "[...document.querySelectorAll('#fabric-flows td:first-child')].map((one) => one.textContent)"
    )
    assert cells == [str(flow) for flow in slowest["flow"]]
    paths = "document.querySelectorAll('#fabric-drawing .path').length"
    dashed = "document.querySelectorAll('#fabric-drawing .path.dead').length"
    within_failure = slowest["start_ns"].is_between(10 * INTERVAL_NS, 30 * INTERVAL_NS, closed="left").to_list()
    assert True in within_failure
    assert False in within_failure
    for failed in (True, False):
        row = within_failure.index(failed)
        flow = slowest.row(row, named=True)
        page.click(f"#fabric-flows tr:nth-child({row + 1}) td button")
        # Four links up and four down between leaves and spines, and the two links of the hosts' boxes.
        assert page.evaluate(paths) == 10
        assert page.evaluate(dashed) == (1 if failed else 0)
        assert page.evaluate("document.querySelectorAll('#fabric-drawing rect.end').length") == 2
        words = page.evaluate("document.getElementById('fabric-flow').textContent")
        assert words.startswith(f"Flow {flow['flow']}: ")
        assert f"from host{flow['src']} to host{flow['dst']}" in words
        assert "4 shortest paths of 4 links join them. " in words
        assert ("3 of them were whole" in words) is failed
        assert words.endswith("It took one path; results do not say which.")
        start = int(flow["start_ns"] // INTERVAL_NS)
        assert page.evaluate("document.getElementById('fabric-time').value") == str(start)
    # Once more: nothing is shown.
    page.click(f"#fabric-flows tr:nth-child({row + 1}) td button")
    assert page.evaluate(paths) == 0


def enumerated(fabric: dict[str, Any], source_: int, target: int, dead: set[int]) -> tuple[int, int, set[int]]:
    """Number of shortest paths, their length and their ports, by walking all of them."""
    from_, to = fabric["ports"]["from"], fabric["ports"]["to"]
    border: list[tuple[int, list[int]]] = [(source_, [])]
    length = 0
    while border:
        there = [path for node, path in border if node == target]
        if there:
            return len(there), length, {port for path in there for port in path}
        length += 1
        border = [
            (to[port], [*path, port])
            for node, path in border
            for port in range(len(from_))
            if from_[port] == node
            and port not in dead
            and (to[port] >= fabric["hosts"] or to[port] == target)
            and all(to[port] != from_[before] for before in path)
        ]
        if length > 8:
            break
    return 0, 0, set()


def test_shortest_paths_are_those_that_one_finds_by_walking(browser: Browser, file: Path) -> None:
    page = browser.open(file)
    random = np.random.default_rng(3)
    # Host 1 has a link to both leaves, but passes nothing on.
    joined = topology(
        ["host"] * 3 + ["leaf"] * 2 + ["spine"], [None] * 6, [(0, 3), (1, 3), (1, 4), (2, 4), (3, 5), (4, 5)]
    )
    for fabric, pairs in (
        (leaf_spine(3, 4, 2), [(0, 5), (0, 1)]),
        (fat_tree(4, 2), [(0, 15), (0, 3), (0, 1)]),
        (joined, [(0, 2), (0, 1), (1, 2)]),
    ):
        graph = {key: {"values": fabric["ports"][key]} for key in ("from", "to", "reverse")}
        plain = {"graph": graph, "names": fabric["nodes"]["name"], "hosts": fabric["hosts"]}
        number = len(fabric["ports"]["from"])
        for share in (0.0, 0.1, 0.3):
            dead = {int(port) for port in np.flatnonzero(random.uniform(size=number) < share)}
            for pair in pairs:
                found = page.evaluate(f"""(() => {{ {source("shortest_paths.js")};
                    const dead = new Set({sorted(dead)});
                    const found = shortestPaths({json.dumps(plain)}, {pair[0]}, {pair[1]}, (port) => !dead.has(port));
                    return [found.count, found.links, [...found.ports]];
                }})()""")
                count, links, over = enumerated(fabric, *pair, dead)
                assert (found[0], found[1], set(found[2])) == (count, links, over), (pair, dead)


def cheapest(fabric: dict[str, Any], source_: int, target: int, dead: set[int]) -> tuple[int, set[int]]:
    """Number of paths of least cost and their ports, of all up to seven links; cards serve their own hosts alone."""
    ports, tier, hosts = fabric["ports"], fabric["nodes"]["tier"], fabric["hosts"]
    found: list[tuple[int, list[int]]] = []

    def walk(path: list[int], nodes: list[int]) -> None:
        if nodes[-1] == target:
            found.append((sum(ports["cost"][port] for port in path), path))
            return
        for port, (start, end) in enumerate(zip(ports["from"], ports["to"], strict=True)):
            of_host = min(nodes[-2:]) < hosts or end < hosts
            bridge = tier[start] == "nic" and not of_host
            if start == nodes[-1] and port not in dead and end not in nodes and len(path) < 7 and not bridge:
                walk([*path, port], [*nodes, end])

    walk([], [source_])
    least = min((cost for cost, _ in found), default=0)
    best = [path for cost, path in found if cost == least]
    return len(best), {port for path in best for port in path}


def test_paths_of_dragonflies_and_planes_are_the_cheapest(browser: Browser, file: Path) -> None:
    page = browser.open(file)
    random = np.random.default_rng(3)
    for keys in (
        'kind = "dragonfly"\nrouters_per_group = 2\nglobal_links_per_router = 1\nhosts_per_router = 1',
        'kind = "slim-fly"\nq = 3\nhosts_per_router = 1',
        'kind = "multi-plane"\nleaves = 2\nspines = 1\nhosts_per_leaf = 2',
    ):
        fabric = _core.Fabric(f"[fabric]\n{keys}", "fabric.toml").topology()
        shape_ = {"names": fabric["nodes"]["name"], "hosts": fabric["hosts"], "cards": shape(fabric)["cards"]}
        graph = {key: {"values": fabric["ports"][key]} for key in ("from", "to", "reverse", "cost")}
        number = len(fabric["ports"]["from"])
        for share in (0.0, 0.1, 0.2, 0.3):
            dead = {int(port) for port in np.flatnonzero(random.uniform(size=number) < share)}
            for pair in ((0, 3), (1, 2), (2, 0)):
                found = page.evaluate(f"""(() => {{ {source("shortest_paths.js")};
                    const dead = new Set({sorted(dead)});
                    const shape = {json.dumps({**shape_, "graph": graph})};
                    const found = shortestPaths(shape, {pair[0]}, {pair[1]}, (port) => !dead.has(port));
                    return [found.count, [...found.ports]];
                }})()""")
                assert (found[0], set(found[1])) == cheapest(fabric, *pair, dead), (keys, pair, dead)


def test_joined_intervals_keep_mean_most_and_sum() -> None:
    fabric = leaf_spine(2, 2, 2)
    frame = busy_ports(fabric)
    # The last interval is longer, as silent ones are.
    frame = frame.with_columns(
        length_ns=pl.when(pl.col("start_ns") == (INTERVALS - 1) * INTERVAL_NS)
        .then(5 * INTERVAL_NS)
        .otherwise(INTERVAL_NS)
    )
    lines = carriers(fabric)
    found = port_times(frame, lines, 7)
    assert found["joined"] == 6
    starts = unpacked(found["start_ns"])
    ends = [*starts[1:], (INTERVALS + 4) * INTERVAL_NS]
    assert (unpacked(found["start_ns"]) + unpacked(found["length_ns"])).tolist() == ends
    drops = np.zeros(len(starts) * len(lines))
    drops[unpacked(found["drops"]["positions"])] = unpacked(found["drops"]["values"])
    for interval, (start, end) in enumerate(zip(starts, ends, strict=True)):
        part = frame.filter(pl.col("start_ns").is_between(start, end, closed="left"))
        for number, line in enumerate(lines):
            mine = part.filter(pl.col("port").is_in(line.ports))
            busy = np.average(mine["utilization"], weights=mine["length_ns"])
            assert unpacked(found["utilization"])[interval, number] == pytest.approx(busy / UTILIZATION_STEP, abs=0.51)
            assert unpacked(found["backlog"])[interval, number] == mine["backlog_max_bytes"].max()
            lost = mine.select(pl.col("dropped_packets") + pl.col("lost_packets")).to_series().sum()
            assert drops[interval * len(lines) + number] == lost


def unpacked(packed: dict[str, Any]) -> Any:
    """Array behind its text."""
    import base64

    array = np.frombuffer(base64.b64decode(packed["bytes"]), dtype=f"<{packed['kind']}")
    return array.reshape(packed["shape"])


def test_hosts_of_a_switch_are_one_carrier_in_each_direction() -> None:
    fabric = leaf_spine(2, 2, 3)
    found = {one.label: one.ports for one in carriers(fabric)}
    assert found["3 hosts to leaf0"] == [0, 2, 4]
    assert found["leaf0 to 3 hosts"] == [1, 3, 5]
    assert len(found) == 2 * 4 + 2 * 2
    for box in shape(fabric)["boxes"]:
        assert box["x"] - box["width"] / 2 >= 0
        assert box["x"] + box["width"] / 2 <= shape(fabric)["width"]
        assert 0 <= box["top"] < box["bottom"] <= shape(fabric)["height"]


def test_runs_are_left_out_where_their_intervals_would_be_too_coarse() -> None:
    cells = Cells(
        {"load": list(range(20))},
        [1, 2],
        [Cell({"load": load}, seed, Path("none")) for load in range(20) for seed in (1, 2)],
    )
    for links in (10, 100, 1000, 10_000):
        indexes, intervals = _chosen(cells, [links * BYTES] * 40)
        assert intervals * len(indexes) * links * BYTES <= BYTES_MAX
        assert len(indexes) == {10: 40, 100: 40, 1000: RUNS_MAX, 10_000: RUNS_MAX}[links]


def test_the_few_runs_that_are_shown_have_the_baseline() -> None:
    """18 schemes at 7 loads: one load, and the scheme that all others are compared with."""
    schemes = [f"scheme{number}" for number in range(18)]
    points = [{"load": load, "routing.balance": name} for load in range(7) for name in schemes]
    cells = Cells(
        {"load": list(range(7)), "routing.balance": schemes}, [1], [Cell(point, 1, Path("none")) for point in points]
    )
    indexes, _ = _chosen(cells, [10_000 * BYTES] * len(points))
    shown = [points[index] for index in indexes]
    assert {point["load"] for point in shown} == {6}
    assert [point["routing.balance"] for point in shown] == ["scheme0", *schemes[-(RUNS_MAX - 1) :]]


FAT_TREE = """\
name = "recorded"

[fabric]
kind = "fat-tree"
k = 4

[[traffic]]
sizes = "web-search"
load = 0.7
duration = "10 ms"

[transport]
kind = "dctcp"

[record]
events = 100000
"""


@pytest.mark.parametrize("balance", ["ecmp", "spray"])
def test_recorded_paths_are_those_on_which_packets_were_marked(browser: Browser, tmp_path: Path, balance: str) -> None:
    """Marks name their port: it lies on a path of the flow's numbers, and with one path no other port was chosen."""
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(FAT_TREE)
    done = anabranch("run", str(scenario), "-o", f"routing.balance={balance}", "--runs", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    run = ab.Run(folder)
    page = browser.open(page_of(tmp_path / "page.html", folder))
    fabric = run.topology
    graph = {key: {"values": fabric["ports"][key]} for key in ("from", "to", "reverse")}
    plain = {"graph": graph, "names": fabric["nodes"]["name"], "hosts": fabric["hosts"]}
    slowest = slowest_flows(run)
    chosen = 0
    for row, flow in enumerate(slowest["flow"]):
        numbers = slowest["numbers"][row]
        assert len(numbers) == slowest["paths"][row]
        ends = f"{slowest['src'][row]}, {slowest['dst'][row]}"
        taken = page.evaluate(f"""(() => {{ {source("shortest_paths.js")}; {source("numbered_paths.js")};
            const shape = {json.dumps(plain)};
            return portsOfNumbers(shape, {ends}, shortestPaths(shape, {ends}), {numbers});
        }})()""")
        assert len(taken) == len(numbers)
        marks = run.events.filter(
            pl.col("event").cast(pl.String) == "mark", pl.col("packet").cast(pl.String) == "data", flow=flow
        )["port"].to_list()
        assert set(marks) <= {port for ports_ in taken for port in ports_}, flow
        switches = [port for port in marks if fabric["ports"]["from"][port] >= fabric["hosts"]]
        chosen += sum(fabric["ports"]["to"][port] >= fabric["hosts"] for port in switches)
    # A wrong path would have been seen: packets were marked where switches had a choice. Spray leaves no queue there.
    assert chosen > 100 or balance == "spray"
    page.click("#fabric-flows tr:nth-child(1) td button")
    words = page.evaluate("document.getElementById('fabric-flow').textContent")
    number = slowest["paths"][0]
    assert words.endswith(f"It took {number} path{'' if number == 1 else 's'}, drawn strong.")
    assert page.evaluate("document.querySelectorAll('#fabric-drawing .path.taken').length") >= 2
