"""Traces for Perfetto: read back by its own classes and compared with the tables, row by row."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import anabranch as ab
from anabranch.files.errors import AnabranchError
from anabranch.simulate.runs.timeline.rounding import whole_ns
from support.command import anabranch
from support.perfetto_trace import Slice, Trace

SCENARIO = {
    "name": "traced",
    "fabric": {"leaves": 2, "spines": 2, "hosts_per_leaf": 3, "link": {"buffer": "12 KB", "ecn": "6 packets"}},
    "change": [
        {"link": "leaf0-spine0", "at": "1 ms", "set": "down"},
        {"switch": "spine1", "at": "2 ms", "blackhole": 0.1},
        {"link": "leaf1-spine0", "at": "100 s", "set": "down"},
    ],
    "traffic": [{"sizes": "20 KB", "load": 0.9, "duration": "3 ms"}],
    "routing": {"balance": "letflow", "delay": "300 us"},
    "transport": {"kind": "dctcp", "min_rto": "10 ms"},
    "stop": {"at": "8 ms"},
    "record": {
        "interval": "100 us",
        "queues": ["leaf0"],
        "queue_interval": "20 us",
        "windows": [3, 5],
        "events": 1_000_000,
    },
}
COUNTERS = {
    "mean backlog": "backlog_mean_bytes",
    "largest backlog": "backlog_max_bytes",
    "utilization": "utilization",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ab.Run:
    """A run with drops, losses, marks, other paths, changes and flows that do not end."""
    run = ab.run(SCENARIO, runs=tmp_path_factory.mktemp("runs"), progress=False)
    assert set(run.events["event"].cast(pl.String)) == {"drop", "loss", "mark", "path"}
    assert run.events.filter(pl.col("port").is_null() & (pl.col("event") == "loss")).height > 0
    assert 0 < run.manifest["flows_unfinished"] < run.flows.height
    return run


@pytest.fixture(scope="module")
def trace(run: ab.Run, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """The trace of that run."""
    file = tmp_path_factory.mktemp("trace") / "run.pftrace"
    run.trace(file)
    return Trace(file)


def port_paths(run: ab.Run) -> list[str]:
    """Path of the track of each port."""
    names, ports, hosts = run.topology["nodes"]["name"], run.topology["ports"], run.topology["hosts"]
    return [
        f"{'Hosts' if one < hosts else 'Switches'}/{names[one]}/{names[one]}>{names[other]}"
        for one, other in zip(ports["from"], ports["to"], strict=True)
    ]


def whole(ns: float) -> int:
    """Nanoseconds as the trace has them."""
    return round(ns)


def test_times_are_rounded_half_to_even() -> None:
    times_ns = [0.5, 1.5, 2.5, 2.499, 3.001, 1e9 + 0.5]
    assert pl.DataFrame({"t": times_ns}).select(whole_ns("t"))["t"].to_list() == [whole(ns) for ns in times_ns]


def test_flows_are_slices_with_their_whole_rows(run: ab.Run, trace: Trace) -> None:
    slices = [one for one in trace.slices if trace.path(one.track).endswith("/flows sent")]
    rows = [one.arguments for one in sorted(slices, key=lambda one: one.arguments["flow"])]
    read = pl.DataFrame(rows, schema=run.flows.with_columns(pl.col("src_name", "dst_name").cast(pl.String)).schema)
    begun = run.flows.filter(pl.col("start_ns").is_not_null())
    assert_frame_equal(read, begun.with_columns(pl.col("src_name", "dst_name").cast(pl.String)), check_exact=True)
    for one in slices:
        row = one.arguments
        assert trace.path(one.track) == f"Hosts/{row['src_name']}/flows sent"
        assert one.begin_ns == whole(row["start_ns"])
        end_ns = row["start_ns"] + row["fct_ns"] if row["finished"] else run.manifest["end_ns"]
        assert one.end_ns == whole(end_ns)
        assert one.name.endswith(", unfinished") is not row["finished"]


def test_a_host_has_no_more_tracks_than_flows_at_once(trace: Trace) -> None:
    by_host: dict[str, list[Slice]] = {}
    for one in trace.slices:
        by_host.setdefault(trace.path(one.track), []).append(one)
    for path, slices in by_host.items():
        if path.endswith("/flows sent"):
            at_once = max(sum(a.begin_ns <= b.begin_ns < a.end_ns for a in slices) for b in slices)
            assert len({one.track for one in slices}) == at_once
    assert any(len({one.track for one in slices}) > 1 for slices in by_host.values())


def test_arrows_lead_to_the_receiver_when_the_last_byte_arrives(run: ab.Run, trace: Trace) -> None:
    begins = {arrow: one for one in trace.slices for arrow in one.arrows_from}
    ends = {arrow: one for one in trace.instants for arrow in one.arrows_to}
    finished = run.flows.filter("finished")
    assert len(begins) == len(ends) == finished.height
    for flow, src, dst, start_ns, fct_ns in finished.select(
        "flow", "src_name", "dst_name", "start_ns", "fct_ns"
    ).iter_rows():
        (arrow,) = [arrow for arrow, one in begins.items() if one.arguments["flow"] == flow]
        assert trace.path(begins[arrow].track) == f"Hosts/{src}/flows sent"
        assert trace.path(ends[arrow].track) == f"Hosts/{dst}/flows received"
        assert ends[arrow].arguments["flow"] == flow
        assert ends[arrow].begin_ns == whole(start_ns + fct_ns)


def read_counters(trace: Trace, ending: str) -> dict[str, list[tuple[int, float]]]:
    """Values by path of the counter's parent."""
    read: dict[str, list[tuple[int, float]]] = {}
    for track, at_ns, value in trace.counts:
        parent, _, name = trace.path(track).rpartition("/")
        if name == ending:
            read.setdefault(parent, []).append((at_ns, value))
    return read


def same_steps(read: list[tuple[int, float]], rows: list[tuple[float, float]]) -> None:
    """Holds a counter, which keeps its value until the next one, to the rows of a table."""
    at, value, position = -1, float("nan"), 0
    for time_ns, expected in rows:
        while position < len(read) and read[position][0] <= whole(time_ns):
            (at, value), position = read[position], position + 1
        assert value == expected, f"at {time_ns} ns the counter has {value} since {at} ns, the table {expected}"
    assert position == len(read), "the counter has no values of its own"


@pytest.mark.parametrize("name", COUNTERS)
def test_ports_are_counters_with_the_values_of_every_interval(run: ab.Run, trace: Trace, name: str) -> None:
    read = read_counters(trace, name)
    paths = port_paths(run)
    assert set(read) == set(paths)
    for (port,), rows in run.ports.partition_by("port", as_dict=True).items():
        same_steps(read[paths[port]], list(rows.sort("start_ns").select("start_ns", COUNTERS[name]).iter_rows()))


def test_samples_and_windows_are_counters(run: ab.Run, trace: Trace) -> None:
    read, paths = read_counters(trace, "sampled backlog"), port_paths(run)
    for (port,), rows in run.queues.partition_by("port", as_dict=True).items():
        same_steps(read.pop(paths[port]), list(rows.select("time_ns", "backlog_bytes").iter_rows()))
    assert not read
    assert set(run.windows["flow"]) == {3, 5}
    rates = 0
    for (flow,), rows in run.windows.partition_by("flow", as_dict=True).items():
        (of_flow,) = read_counters(trace, f"congestion window of flow {flow}").items()
        assert of_flow[0] == f"Hosts/{run.flows['src_name'][flow]}"
        # Windows of one moment, of which the last one counts, are all in the trace.
        last = rows.group_by(pl.col("time_ns").round(mode="half_to_even"), maintain_order=True).last()
        same_steps(of_flow[1], list(last.select("time_ns", "window_bytes").iter_rows()))
        # A flow whose packets are all lost measures no round trip, and has no rate.
        known = rows.drop_nulls("rate_bps")
        known = known.group_by(pl.col("time_ns").round(mode="half_to_even"), maintain_order=True).last()
        rate = read_counters(trace, f"allowed rate of flow {flow}")
        rates += len(rate)
        assert list(rate) == ([of_flow[0]] if known.height else [])
        same_steps(rate.get(of_flow[0], []), list(known.select("time_ns", "rate_bps").iter_rows()))
    assert rates


def test_single_packets_are_instants_row_by_row(run: ab.Run, trace: Trace) -> None:
    paths, senders = port_paths(run), dict(run.flows.select("flow", "src_name").iter_rows())
    expected: Counter[tuple[object, ...]] = Counter()
    for row in run.events.iter_rows(named=True):
        if row["event"] == "path":
            place, name = f"Hosts/{senders[row['flow']]}/paths of flows sent", f"flow {row['flow']}: path {row['path']}"
        else:
            place = "Packets without a port" if row["port"] is None else paths[row["port"]]
            name = row["event"]
        expected[place, name, whole(row["time_ns"]), row["flow"], row["packet"], row["path"]] += 1
    read = Counter(
        (trace.path(one.track), one.name, one.begin_ns, *(one.arguments.get(key) for key in ("flow", "packet", "path")))
        for one in trace.instants
        if "packet" in one.arguments
    )
    assert read == expected
    # And so the sums are those of the ports.
    for event in ("drop", "loss", "mark"):
        column = {"drop": "dropped_packets", "loss": "lost_packets", "mark": "marked_packets"}[event]
        counted = dict(run.ports.group_by("port").agg(pl.col(column).sum()).iter_rows())
        for port, place in enumerate(paths):
            of_port = sum(n for (where, name, *_), n in read.items() if (where, name) == (place, event))
            assert of_port == counted[port]


def test_changes_until_the_end_are_instants_of_their_ports(run: ab.Run, trace: Trace) -> None:
    paths, nodes = port_paths(run), run.topology["nodes"]["name"]
    happened = [change for change in run.topology["changes"] if change["at_ns"] <= run.manifest["end_ns"]]
    assert len(happened) == 3 < len(run.topology["changes"])
    expected = Counter(
        (
            paths[change["port"]] if "port" in change else f"Switches/{nodes[change['node']]}",
            change["what"],
            whole(change["at_ns"]),
            change["value"],
        )
        for change in happened
    )
    read = [one for one in trace.instants if "what" in one.arguments]
    at_ports = [one for one in read if trace.path(one.track) != "Changes"]
    assert expected == Counter(
        (trace.path(one.track), one.arguments["what"], one.begin_ns, one.arguments.get("value")) for one in at_ports
    )
    assert len(read) == 2 * len(at_ports)
    (whole_run,) = [one for one in trace.slices if trace.path(one.track) == "Run"]
    assert (whole_run.begin_ns, whole_run.end_ns, whole_run.name) == (0, whole(run.manifest["end_ns"]), "traced")


def test_hosts_and_switches_stand_in_the_order_of_the_fabric(run: ab.Run, trace: Trace) -> None:
    ranks: dict[str, list[tuple[int, str]]] = {"Hosts": [], "Switches": []}
    for described in trace.descriptors.values():
        group = trace.path(described.uuid).rpartition("/")[0]
        if group in ranks:
            ranks[group].append((described.sibling_order_rank, described.name))
    found = [name for group in ("Hosts", "Switches") for _, name in sorted(ranks[group])]
    assert found == run.topology["nodes"]["name"]


def test_the_verb_and_the_option_write_the_same_bytes(tmp_path: Path) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text(
        'name = "t"\n[fabric]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n'
        '[[traffic]]\nsizes = "100 KB"\nload = 0.5\nduration = "1 ms"\n'
    )
    written = []
    for number in range(2):
        runs, out = tmp_path / f"runs{number}", tmp_path / f"{number}.pftrace"
        done = anabranch("run", str(scenario), "--runs", str(runs), "--trace", str(out))
        assert done.returncode == 0, done.stderr
        assert f"trace: {out}" in done.stdout
        written.append(out.read_bytes())
    assert written[0] == written[1]
    (folder,) = (tmp_path / "runs0").iterdir()
    run = ab.Run(folder)
    assert run.scenario["record"]["events"] == 100_000
    out = tmp_path / "verb.pftrace"
    done = anabranch("trace", str(folder), "-o", str(out))
    assert (done.returncode, done.stdout) == (0, f"trace: {out}; open it at https://ui.perfetto.dev\n")
    assert out.read_bytes() == written[0]
    instants = [one for one in Trace(out).instants if "packet" in one.arguments]
    assert len(instants) == run.events.height > 0
    # A scenario that says how many events it wants keeps its folder.
    again = anabranch(
        "run", str(scenario), "-o", "record.events=5", "--runs", str(tmp_path / "few"), "--trace", str(out)
    )
    assert again.returncode == 0
    (few,) = (tmp_path / "few").iterdir()
    assert ab.Run(few).scenario["record"]["events"] == 5


def test_what_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path, run: ab.Run) -> None:
    for out, problem in (
        ("-", "trace: -: a trace is binary, and not for stdout"),
        (str(tmp_path / "no" / "t"), f"{tmp_path / 'no' / 't'}: there is no directory {tmp_path / 'no'}"),
    ):
        with pytest.raises(AnabranchError, match=f"^{problem}"):
            run.trace(out)
        done = anabranch("run", "no.toml", "--trace", out)
        assert done.returncode == 2
    done = anabranch("trace", str(tmp_path))
    assert done.returncode == 2
    assert "no complete run" in done.stderr
    assert not list(tmp_path.iterdir())
