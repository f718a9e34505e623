"""Meters of a real Open vSwitch: what a bucket may let pass, errors by hand, and frames that the kernel stamps."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from anabranch.deploy.targets.ovs.daemons import SWITCH
from anabranch.files.errors import AnabranchError
from anabranch.files.project.studies.wino.fig4.switch_measure import FRAME_BYTES, Metered, Passed, measured
from anabranch.files.project.studies.wino.fig4.switch_meters import Settings, errors, not_usable
from anabranch.lab.fabric.blueprint import Host
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.switches.ovs.switching import open_vswitch
from anabranch.lab.traffic.arrivals import Arrivals
from anabranch.lab.traffic.bursts import frames, open_outlet, send_batch
from anabranch.reproduce.backends.experiment_settings import read_settings
from anabranch.split.tuples import five_tuples
from support.lab_fixture import need_ovs_lab
from support.stopped_threads import stopped
from support.waiting import wait

STUDY = Path(__file__).parents[2] / "studies" / "wino" / "lab-meters"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    need_ovs_lab()
    made = Lab.up(STUDY / "scenario.toml", f"lab-test-{secrets.token_hex(4)}")
    try:
        yield made
    finally:
        made.down()


TRIALS_MAX = 12
"""Measurements until a busy machine has not held the switch up, of two seconds each."""


def passed(lab: Lab, meter: Metered, least_frames: int) -> Passed:
    """What a meter lets pass, once that is so many frames.

    A switch that is held up for longer than its bucket lasts loses tokens, so fewer may pass; never more than its rate
    and one bucket.
    """
    most_frames = 1000 * (meter.rate_kbps * meter.duration_s + meter.burst_kb) / (8 * FRAME_BYTES)
    for _ in range(TRIALS_MAX):
        found = measured(lab, meter)
        counted = found.bits.sum() / (8 * FRAME_BYTES)
        assert counted <= most_frames
        if counted >= least_frames:
            return found
    raise AssertionError(f"{counted:g} frames passed, fewer than {least_frames} in {TRIALS_MAX} trials: {found}")


def test_a_meter_lets_pass_its_rate_and_one_bucket(lab: Lab) -> None:
    meter = Metered(rate_kbps=100, burst_ms=1, offered_mbps=14, duration_s=2)
    assert meter.burst_kb == 25
    # 200 kb and a bucket of 25 have room for 18.6 frames.
    found = passed(lab, meter, 8)
    counted = found.bits.sum() / (8 * FRAME_BYTES)
    assert found.came_bps > 10 * 100_000
    assert not_usable(found, 100) == ""
    # A machine that is held up at the end lets a bucket of two frames pass after the two seconds, and what was to come.
    assert found.arrived - 3 <= counted <= found.arrived, str(found)
    # A frame by itself in a window of 15 ms is 707 % too many; 16 frames come in 16 of 133 windows or fewer.
    assert errors(found.bits, 100, 15).mean() == pytest.approx(707.5 * counted / 133, rel=0.15)
    # More than any meter of a quarter of this rate lets pass.
    passed(lab, Metered(rate_kbps=400, burst_ms=1, offered_mbps=14, duration_s=2), 19)


def test_errors_are_of_windows_and_count_what_is_too_much() -> None:
    bits = np.array([2000.0, 0.0, 0.0, 4000.0, 1000.0, 1000.0, 500.0])
    assert errors(bits, 1000, 1).tolist() == [100.0, 0.0, 0.0, 300.0, 0.0, 0.0, 0.0]
    # The seventh millisecond is in no whole window.
    assert errors(bits, 1000, 3).tolist() == [0.0, 100.0]


@pytest.mark.parametrize(
    ("came", "dropped", "arrived", "rate_kbps", "reason"),
    [
        (2000, 1900, 100, 1000, ""),
        (2000, 1900, 99, 1000, "2400 frames sent, 2000 came to the meter, 100 passed it, 99 arrived; the machine"),
        (2000, 1800, 201, 1000, "2400 frames sent, 2000 came to the meter, 200 passed it, 201 arrived"),
        (2000, 1900, 100, 12_000, "12.1 Mb/s came to the meter; the machine forwards no more"),
    ],
)
def test_a_meter_whose_frames_are_lost_is_left_out(
    came: int, dropped: int, arrived: int, rate_kbps: int, reason: str
) -> None:
    found = Passed(np.zeros(2000), 2400, came, dropped, arrived, 8 * FRAME_BYTES * came / 2, 0.0)
    said = not_usable(found, rate_kbps)
    assert said.startswith(reason)
    assert bool(said) == bool(reason)


def test_frames_are_stamped_in_order_and_none_is_lost_unseen(lab: Lab) -> None:
    source, target = list(lab.hosts.values())[:2]
    switch = open_vswitch(lab)
    # A rule with a meter that lets 9 frames pass: the datapath keeps it, for the next frames.
    measured(lab, Metered(rate_kbps=200, burst_ms=1, offered_mbps=14, duration_s=1))
    with stopped(switch.pid(SWITCH), "revalidator"):
        switch.add_flows("leaf0", ["priority=9,ip,actions=normal"])
        _send_and_watch(source, target)
    with pytest.raises(AnabranchError, match="frames are watched by root"):
        Arrivals(target.namespace, "nothing", 100)


def _send_and_watch(source: Host, target: Host) -> None:
    sent = frames(five_tuples(source.address, target.address, "udp", [4000] * 40, 9), source.mac, target.mac, 300)
    began_ns = time.time_ns()
    with Arrivals(target.namespace, target.interface, 100) as arrivals:
        with open_outlet(source.namespace, source.interface) as outlet:
            send_batch(outlet, sent)
        wait(lambda: len(arrivals.read()[0]) >= len(sent), lambda: f"{len(arrivals.read()[0])} of 40 frames came")
        times_ns = arrivals.read()[0]
        assert (np.diff(times_ns) >= 0).all()
        assert began_ns <= times_ns[0] <= times_ns[-1] <= time.time_ns()
        assert arrivals.read()[1].tolist() == [342] * 40


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("rates_kbps", [0], "settings.rates_kbps: 0; give whole numbers from 1"),
        ("offered", 1.5, "settings.offered: 1.5; give whole numbers from 1"),
        ("duration_s", 1, "settings.duration_s: 1: 5 parts with a window of 300 ms each take 1500 ms; give that"),
    ],
)
def test_wrong_settings_are_refused(key: str, value: object, message: str) -> None:
    given = {
        "rates_kbps": [10],
        "windows_ms": [300],
        "bursts_ms": [1],
        "offered": 2,
        "least_offered_mbps": 14,
        "most_offered_mbps": 200,
        "duration_s": 2,
        "parts": 5,
    }
    assert isinstance(read_settings(Settings, given, STUDY / "study.toml"), Settings)
    with pytest.raises(AnabranchError, match=message):
        read_settings(Settings, given | {key: value}, STUDY / "study.toml")
