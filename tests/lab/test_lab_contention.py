"""Whether a machine was quiet enough for a lab: processor time measured, the rule, and runs beside burners."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

import anabranch as ab
from anabranch.lab.calibration import contention
from anabranch.lab.calibration.contention import Contention, judge, usable_scale
from anabranch.lab.calibration.processor_time import Meter, ProcessorTime
from anabranch.reproduce import lab
from anabranch.reproduce.backends.lab.study import LabEvidence
from anabranch.reproduce.values.cells import Cells
from support.command import anabranch
from support.lab_fixture import SCENARIO, need_ovs_lab, new_name
from support.waiting import wait

MBPS = 1e6
IDLE = ProcessorTime(total_s=20.0, idle_s=14.5, stolen_s=0.02, own_s=4.5, others_s=0.2)
"""Ten seconds of two processors that do nothing but a lab at 100 Mb/s."""
BUSY = ProcessorTime(total_s=20.0, idle_s=0.0, stolen_s=0.06, own_s=3.5, others_s=15.0)
"""The same beside more programs than there are processors."""


def verdict(
    spent: ProcessorTime = IDLE, load: float = 0.3, late_ms: tuple[float, ...] = (0.3,), link_bps: float = 100 * MBPS
) -> Contention:
    return judge(Meter(load, spent, list(late_ms)), link_bps=link_bps, processors=2)


def said(found: Contention) -> str:
    return " ".join(found.causes)


def test_recorded_idle_machines_are_usable() -> None:
    assert verdict().usable
    # docs/validation/lab.md: load average 0.3, in one of five runs 1 % of flows began 2.9 ms late.
    assert verdict(late_ms=(0.3, 0.2, 2.9, 0.4, 0.3)).usable
    # docs/validation/lab-wino.md: 4 of 108 runs began 1 % of their flows 5 to 66 ms late.
    assert verdict(late_ms=(5.1, 12.0, 30.0, 66.0, *[0.5] * 104)).usable
    # A lab's own run before, in a script: what it does is no other's.
    assert verdict(load=1.4).usable


def test_recorded_busy_machines_are_not() -> None:
    assert "other programs took 75.0 %" in said(verdict(BUSY))
    # docs/validation/lab.md: load averages of 4 to 5 and above 8, where lab over simulator was 1.25, and 1.6 to 2.3.
    for load in (4.5, 8.0):
        assert f"the load in the minute before was {load} (2 at most)" in said(verdict(load=load))
    # `lab reproduce wino --quick` whose order contradicted that of an idle machine.
    late = verdict(late_ms=(6.0, 9.0, 40.0, *[7.0] * 9))
    assert said(late) == "1 % of flows in 12 of 12 runs began 40.0 ms late or more (5 at most)"
    assert not verdict(late_ms=(7.3,)).usable
    stolen = ProcessorTime(total_s=20.0, idle_s=14.0, stolen_s=1.0, own_s=4.5, others_s=0.2)
    assert "the hypervisor took 5.00 % of the processors' time (2.00 % at most)" in said(verdict(stolen))
    everything = verdict(ProcessorTime(20.0, 0.0, 1.0, 3.0, 15.0), 9.0, (50.0,))
    assert len(everything.causes) == 4


def test_delays_weigh_less_on_slower_links() -> None:
    # docs/validation/lab.md: at a load average above 8 the lab at 20 Mb/s still gave 0.83 times the simulator.
    assert not verdict(load=8.5).usable
    assert verdict(load=8.5, link_bps=20 * MBPS).usable
    # Faster links than those that were validated are not judged more strictly: idle is idle.
    assert verdict(link_bps=10_000 * MBPS).usable


@pytest.mark.parametrize("link_bps", [20 * MBPS, 100 * MBPS, 1000 * MBPS])
def test_the_scale_of_the_hint_helps(link_bps: float) -> None:
    for spent, load, late_ms in ((BUSY, 0.3, 0.1), (IDLE, 7.9, 0.1), (IDLE, 0.3, 43.0), (BUSY, 23.0, 480.0)):
        before = judge(Meter(load, spent, [late_ms]), link_bps=link_bps, processors=2)
        if before.usable:
            continue
        scale = usable_scale(before, link_bps, 0.5)
        assert 0 < scale < 0.5
        assert judge(Meter(load, spent, [late_ms]), link_bps=link_bps * scale / 0.5, processors=2).usable


def test_one_busy_program_among_many_processors_is_in_nobodys_way() -> None:
    one_of_eight = ProcessorTime(total_s=80.0, idle_s=64.0, stolen_s=0.0, own_s=5.0, others_s=10.0)
    meter = Meter(1.2, one_of_eight, [0.3])
    assert judge(meter, processors=8).usable
    assert not judge(meter, processors=2).usable


@contextmanager
def burning(number: int, *, ours: bool, mark: str = "", niceness: int = 0) -> Iterator[list[int]]:
    """Processes that do nothing but count: children of ours, or of init.

    With a niceness of 19 they still leave no processor idle, but take little from tests beside them.
    """
    fork = "" if ours else "if os.fork(): os._exit(0)\n"
    loop = f"import os\n{fork}os.nice({niceness})\nprint(os.getpid(), flush=True)\nwhile True: pass"
    environment = os.environ | dict([mark.split("=")] if mark else [])
    started = [
        subprocess.Popen([sys.executable, "-c", loop], stdout=subprocess.PIPE, env=environment) for _ in range(number)
    ]
    found: list[int] = []
    try:
        for process in started:
            assert process.stdout is not None
            found.append(int(process.stdout.readline()))
        yield found
    finally:
        for pid in found:
            os.kill(pid, signal.SIGKILL)
        for process in started:
            process.communicate()


def processor_s(pid: int) -> float:
    """Processor time that a process has used."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    ("ours", "mark", "whose"), [(True, "", "own_s"), (False, "", "others_s"), (False, "ANABRANCH_LAB=burn.1", "own_s")]
)
def test_processor_time_is_told_apart(ours: bool, mark: str, whose: str) -> None:
    meter = Meter()
    with burning(1, ours=ours, mark=mark) as (pid,):
        before_s = processor_s(pid)
        with meter.running(*([mark] if mark else [])):
            first_s = processor_s(pid)
            wait(lambda: processor_s(pid) >= first_s + 1.0, lambda: "it gets no processor")
            last_s = processor_s(pid)
        assert before_s <= first_s
    taken_s = last_s - first_s
    assert getattr(meter.spent, whose) >= 0.99 * taken_s
    # What others do on this machine is not known, but none of it is ours.
    assert whose != "others_s" or meter.spent.own_s < 0.5 * taken_s
    assert meter.spent.total_s >= taken_s


def test_what_ends_meanwhile_is_not_lost() -> None:
    meter = Meter()
    spin = "import time\nwhile time.process_time() < 0.5: pass"
    with meter.running():
        subprocess.run([sys.executable, "-c", spin], check=True)
    assert meter.spent.own_s >= 0.45


def run_lab(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    scenario = folder / "small.toml"
    scenario.write_text(SCENARIO)
    command = [sys.executable, "-m", "anabranch", "lab", "run", str(scenario), "-n", new_name(), "--unchecked"]
    command += ["--runs", str(folder / "runs"), "-o", "traffic.duration=500 ms", *more]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def machine_of(folder: Path) -> dict[str, object]:
    (found,) = (folder / "runs").iterdir()
    machine: dict[str, object] = ab.Run(found).manifest["lab"]["machine"]
    return machine


def test_a_run_beside_burners_is_not_usable(tmp_path: Path) -> None:
    need_ovs_lab()
    with burning(os.cpu_count() or 1, ours=True, niceness=19):
        quiet, ran = (run_lab(tmp_path, *options) for options in (["-q"], ["--json", "-"]))
    assert (quiet.returncode, ran.returncode) == (1, 1), ran.stderr
    for said in (quiet.stdout, ran.stderr):
        assert "not usable: the machine was busy: other programs took" in said
        assert "hint: leave the machine to the lab" in said
    assert json.loads(ran.stdout)["machine"]["usable"] is False
    machine = machine_of(tmp_path)
    assert machine["usable"] is False
    assert machine["others_share"] > machine["others_max"] == 0.2  # type: ignore[operator]
    assert machine["idle_share"] < 0.5  # type: ignore[operator]


def test_a_verdict_can_be_set_aside_and_is_stored_all_the_same(tmp_path: Path) -> None:
    need_ovs_lab()
    with burning(os.cpu_count() or 1, ours=True, niceness=19):
        beside = ("--beside-simulator", "--seeds", "1", "--json", str(tmp_path / "beside.json"))
        ran = run_lab(tmp_path, "--allow-busy", *beside)
    assert ran.returncode == 0, ran.stderr
    document = json.loads((tmp_path / "beside.json").read_text())
    assert document["machine"]["usable"] is False
    assert [one["seed"] for one in document["runs"]] == [1]
    assert document["times"][0]["ratio"]["mean"] > 0
    assert sum(link["lab_share"] for link in document["links"]) == pytest.approx(2)
    assert "not usable: the machine was busy: other programs took" in ran.stdout
    runs = [ab.Run(folder).manifest for folder in (tmp_path / "runs").iterdir()]
    (machine,) = (manifest["lab"]["machine"] for manifest in runs if "lab" in manifest)
    assert machine["usable"] is False


@pytest.mark.parametrize("busy", [False, True])
def test_studies_end_with_the_verdict(busy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict(BUSY if busy else IDLE)
    evidence = (LabEvidence(Cells({}, []), [], one.usable, one) for one in (verdict(), found))
    done = [SimpleNamespace(evidence=one, lines=[]) for one in evidence]
    monkeypatch.setattr(lab, "reproduce", lambda *_: done)
    assert anabranch("lab", "reproduce", "wino").returncode == busy
    assert anabranch("lab", "reproduce", "wino", "--allow-busy").returncode == 0
    contention.write(found, tmp_path)
    assert json.loads((tmp_path / contention.FILE).read_text())["usable"] is not busy


def test_the_verdict_is_told() -> None:
    out = io.StringIO()
    contention.show(verdict(), "nothing", Console(file=out, width=80))
    assert out.getvalue().startswith("machine: usable: other programs took 1.00 % of the processors' time")
    assert "nothing" not in out.getvalue()
