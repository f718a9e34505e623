"""Measures what this machine's switches can forward, in a small fabric of its own whose links bound nothing."""

from __future__ import annotations

import fcntl
import os
import platform
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from anabranch.deploy.netlink.namespace import inside
from anabranch.deploy.targets.registry import DEFAULT
from anabranch.lab.calibration import ceiling
from anabranch.lab.calibration.ceiling import Ceiling, PathCeiling
from anabranch.lab.calibration.goodput import goodput_bps
from anabranch.lab.fabric import record, single_path
from anabranch.lab.fabric.blueprint import Host
from anabranch.lab.fabric.termination import unwinding
from anabranch.lab.fabric.topology import Lab, remove
from anabranch.lab.traffic.bursts import frames, send
from anabranch.split.tuples import five_tuples

CHAIN = """[fabric]
kind = "graph"
link = { rate = "100 Gbps", buffer = "10 MB" }
edge = [
    { from = "source", to = "first" },
    { from = "after1", to = "first" },
    { from = "first", to = "second" },
    { from = "after2", to = "second" },
    { from = "second", to = "third" },
    { from = "after3", to = "third" },
]
"""
LOCK = "calibration.lock"
SWITCHES = (1, 2, 3)
"""A path between leaves has three: leaf, spine, leaf."""
FULL_PAYLOAD = 1472
"""Payload of UDP in an Ethernet frame of 1500 bytes."""
FLOWS = 64
NOBODY = "02:ab:ff:ff:ff:ff"
"""Whom frames are for, lest a host answers; rules look at addresses of IP only."""
LOSS_MAX = 0.01
FIRST_PPS, FACTOR, BISECTIONS = 4000.0, 1.6, 4
TRIAL_S, TRIAL_FRAMES_MAX, DRAIN_S = 0.15, 40_000, 0.05
TCP_S = 1.0


def ceiling_of(lab: Lab, *, again: bool = False, progress: Callable[[int, int], None] | None = None) -> Ceiling:
    """Measures what this machine forwards under a lab's settings, once for each lab, and keeps it with the lab.

    A caller that comes while another process measures waits for its end. Remains of a killed measurement are removed.

    Args:
        lab: Whose settings.
        again: Measure even if it has been.
        progress: Told how many of how many parts are done.

    Raises:
        AnabranchError: no lab can be made here.

    """
    with _locked(lab, wait=True):
        _remove_children(lab)
        kept = None if again else ceiling.read(lab.folder)
        if kept is not None:
            return kept
        measured = calibrate(switch=lab.record.switch, tso=lab.record.tso, parent=lab.name, progress=progress)
        ceiling.write(measured, lab.folder)
        return measured


def remove_left(lab: Lab) -> None:
    """Removes what a calibration for this lab left that was killed; none while one is under way.

    Raises:
        AnabranchError: something cannot be removed.

    """
    with _locked(lab, wait=False) as free:
        if free:
            _remove_children(lab)


def calibrate(
    *,
    switch: str = DEFAULT,
    tso: bool = False,
    parent: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> Ceiling:
    """Measures; some 20 seconds, in which the machine should do nothing else.

    Args:
        switch: As in the lab that it is for.
        tso: As in the lab that it is for.
        parent: The name of the lab that it is for, which takes along what is left if this is killed.
        progress: Told how many of how many parts are done.

    Raises:
        AnabranchError: no lab can be made here.

    """
    load_before = os.getloadavg()[0]
    with unwinding(), tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "chain.toml"
        scenario.write_text(CHAIN)
        name = f"calibrate-{secrets.token_hex(4)}"
        with Lab.temporary(scenario, name, switch=switch, tso=tso, parent=parent) as lab:
            single_path.install(lab)
            paths: list[PathCeiling] = []
            for switches in SWITCHES:
                if progress:
                    progress(len(paths), len(SWITCHES))
                paths.append(_path(lab, switches))
            version = lab.switching.version()
    return Ceiling(
        paths=tuple(paths),
        tso=tso,
        cores=len(os.sched_getaffinity(0)),
        load_before=load_before,
        kernel=platform.release(),
        switch=version,
        measured_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )


def _remove_children(lab: Lab) -> None:
    for child in record.children(lab.name):
        remove(child)


@contextmanager
def _locked(lab: Lab, *, wait: bool) -> Iterator[bool]:
    """Holds the lab's calibration for oneself; the kernel lets go when the process ends. False: another has it."""
    with (lab.folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True


def _path(lab: Lab, switches: int) -> PathCeiling:
    source, target = lab.hosts["source"], lab.hosts[f"after{switches}"]
    small_pps, _ = _most_pps(lab, source, target, 0)
    full_pps, cpu_ns = _most_pps(lab, source, target, FULL_PAYLOAD)
    return PathCeiling(switches, small_pps, full_pps, goodput_bps(source, target, TCP_S), cpu_ns and cpu_ns / switches)


def _most_pps(lab: Lab, source: Host, target: Host, payload: int) -> tuple[float, float | None]:
    """The highest rate at which hardly a frame is lost, and the processor time a frame took then, in ns, if known."""
    ports = np.arange(FLOWS, dtype=np.uint16) + 1024
    tuples = five_tuples(source.address, target.address, "udp", ports, 9)
    wave = frames(tuples, source.mac, NOBODY, payload)
    # Sets up the flows in the switches.
    send(source.namespace, source.interface, wave, FIRST_PPS)
    time.sleep(DRAIN_S)
    good, bad = 0.0, 0.0
    cpu_ns: float | None = None
    rate, bisected = FIRST_PPS, 0
    while bisected < BISECTIONS:
        count = int(min(TRIAL_FRAMES_MAX, max(rate * TRIAL_S, FLOWS)))
        cpu, before = lab.switching.cpu_ns(), _received(target)
        reached = send(source.namespace, source.interface, np.resize(wave, (count, wave.shape[1])), rate)
        time.sleep(DRAIN_S)
        arrived = _received(target) - before
        if arrived >= (1 - LOSS_MAX) * count:
            after = lab.switching.cpu_ns()
            cpu_ns = None if after is None or cpu is None else (after - cpu) / count
            good = min(rate, reached)
            if reached < rate / FACTOR:
                # The sender is slower than the switches.
                return good, cpu_ns
        else:
            bad = rate
        bisected += bad > 0
        rate = (max(good, FIRST_PPS / FACTOR) * bad) ** 0.5 if bad else rate * FACTOR
    return good, cpu_ns


def _received(host: Host) -> int:
    with inside(host.namespace):
        lines = Path("/proc/thread-self/net/dev").read_text().splitlines()
    (counters,) = (line.partition(":")[2].split() for line in lines if line.strip().startswith(f"{host.interface}:"))
    return int(counters[1])
