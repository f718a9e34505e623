"""Ceiling of a machine's forwarding: measured, kept, and loads above it refused."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from anabranch import AnabranchError
from anabranch.lab.calibration import calibrate, ceiling
from anabranch.lab.calibration.ceiling import Ceiling, PathCeiling
from anabranch.lab.calibration.ceiling_table import show
from anabranch.lab.fabric import overview, record
from anabranch.lab.fabric.iproute import present
from anabranch.lab.fabric.processes import marked
from anabranch.lab.fabric.record import Record
from anabranch.lab.fabric.topology import remove
from support.command import anabranch
from support.lab_fixture import SCENARIO, UNHURRIED, need_ovs_lab, new_name
from support.waiting import wait

PATHS = tuple(PathCeiling(n, 100e3 / n, 80e3 / n, 900e6 / n, 1500.0) for n in (1, 2, 3))
KNOWN = Ceiling(PATHS, False, 2, 0.1, "6.1", "3.1.0", "2026-01-01T00:00:00+00:00")


def test_tcp_slows_with_every_switch() -> None:
    assert [KNOWN.tcp_bps(n) for n in (1, 2, 3, 6)] == pytest.approx([900e6, 450e6, 300e6, 150e6])
    assert KNOWN.tcp_bps(1.5) == pytest.approx(600e6)


def test_noise_makes_no_path_faster_than_was_measured() -> None:
    noisy = replace(KNOWN, paths=(*PATHS[:2], replace(PATHS[2], tcp_bps=950e6)))
    assert noisy.tcp_bps(2.5) == pytest.approx(450e6)
    assert 0 < noisy.tcp_bps(10) <= 950e6


def test_a_load_above_the_ceiling_is_refused() -> None:
    KNOWN.check(0.79 * 300e6, 3)
    with pytest.raises(AnabranchError, match=r"above this machine's ceiling \(240 Mbps.*--scale times 0.5"):
        KNOWN.check(480e6, 3)


def test_what_is_kept_is_what_is_read(tmp_path: Path) -> None:
    assert ceiling.read(tmp_path) is None
    ceiling.write(KNOWN, tmp_path)
    assert ceiling.read(tmp_path) == KNOWN
    for broken in ("{", "[]", "{}", '{"paths": [{}]}', '{"paths": 3}'):
        (tmp_path / ceiling.FILE).write_text(broken)
        with pytest.raises(AnabranchError, match="not a ceiling"):
            ceiling.read(tmp_path)


def test_the_table_says_when_others_were_busy() -> None:
    for load, told in ((0.1, False), (2.0, True)):
        out = io.StringIO()
        show(replace(KNOWN, load_before=load), Console(file=out, width=120))
        assert ("others were busy" in out.getvalue()) == told
        assert "969" in out.getvalue()


def test_this_machine_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    need_ovs_lab()
    for name, value in (("SWITCHES", (1, 3)), ("BISECTIONS", 1), ("TCP_S", 0.3), ("FACTOR", 4.0), *UNHURRIED):
        monkeypatch.setattr(calibrate, name, value)
    done = []
    found = calibrate.calibrate(progress=lambda part, parts: done.append((part, parts)))
    assert done == [(0, 2), (1, 2)]
    assert [path.switches for path in found.paths] == [1, 3]
    for path in found.paths:
        assert path.small_pps > 0
        assert path.full_pps > 0
        assert path.tcp_bps > 1e6
    # Three switches cost more than one, even on a busy machine: processor time, not the clock on the wall.
    assert (found.paths[1].switch_cpu_ns or 0) > 0


@contextmanager
def killed_while_calibrating(folder: Path) -> Iterator[tuple[str, Path, Record]]:
    """A lab whose `lab run` was killed while it measured: its name, its scenario, and the lab of the measurement."""
    need_ovs_lab()
    name, scenario = new_name(), folder / "small.toml"
    scenario.write_text(SCENARIO)
    command = [sys.executable, "-m", "anabranch", "lab", "run", str(scenario), "-n", name, "--runs", str(folder)]
    left: list[Record] = []

    def measures() -> bool:
        # Known by where its scenario is: which lab it is for is what is tested.
        for other in record.names():
            # Other tests' labs come and go, and some are broken on purpose.
            with suppress(AnabranchError):
                made = record.read(other)
                if made and made.complete and made.name != name and Path(made.scenario_file).is_relative_to(folder):
                    left.append(made)
        return bool(left)

    environment = os.environ | {"TMPDIR": str(folder)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as running:
        try:
            wait(measures, lambda: f"no calibration; it ended with {running.poll()}")
        finally:
            running.kill()
    try:
        yield name, scenario, left[0]
    finally:
        for each in (name, left[0].name):
            remove(each)


def assert_gone(left: Record) -> None:
    assert left.name not in record.names()
    assert not present() & set(left.namespaces)
    assert not marked(left.mark)


def test_a_calibration_that_is_killed_goes_with_its_lab(tmp_path: Path) -> None:
    with killed_while_calibrating(tmp_path) as (name, _, left):
        assert marked(left.mark)
        assert present() & set(left.namespaces)
        out = io.StringIO()
        overview.show(overview.labs(), Console(file=out, width=300))
        (listed,) = (line for line in out.getvalue().splitlines() if line.startswith(left.name))
        assert name in listed
        assert anabranch("lab", "down", name).stdout == f"{name}: removed\n"
        assert_gone(left)
        assert name not in record.names()
        # Nor is anything left when the lab itself is gone, and only that of its calibration stands.
        assert anabranch("lab", "down", name).stdout == f"{name}: not there\n"


def test_the_next_run_removes_what_a_killed_calibration_left(tmp_path: Path) -> None:
    with killed_while_calibrating(tmp_path) as (name, scenario, left):
        short = ("--unchecked", "-q", "-o", "traffic.duration=200 ms", "--runs", str(tmp_path))
        ran = anabranch("lab", "run", str(scenario), "-n", name, *short)
        assert "calibrate-" not in ran.stderr
        assert_gone(left)
        # The lab stood before, and stands.
        assert name in record.names()
