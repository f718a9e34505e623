"""Processor time of this machine over a while: the lab's own, other programs', the hypervisor's, and idle."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path

from anabranch.lab.fabric.processes import marked

PF_KTHREAD = 0x0020_0000
"""`flags` of a thread of the kernel (linux/sched.h); what these do is the lab's or nobody's."""
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class ProcessorTime:
    """Processor time of all processors together, in seconds."""

    total_s: float = 0.0
    idle_s: float = 0.0
    stolen_s: float = 0.0
    """Time that a hypervisor gave to other machines while this one wanted it (`steal` of proc_stat(5))."""
    own_s: float = 0.0
    """This process, its children and the lab's daemons. Their share of interrupts is not in it."""
    others_s: float = 0.0
    """All other programs."""

    def __add__(self, other: ProcessorTime) -> ProcessorTime:
        return ProcessorTime(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def __sub__(self, other: ProcessorTime) -> ProcessorTime:
        return ProcessorTime(*(getattr(self, one.name) - getattr(other, one.name) for one in fields(self)))


@dataclass
class Meter:
    """Processor time of the runs of one command, and causes that disturbed them."""

    load_before: float | None = field(default_factory=lambda: os.getloadavg()[0])
    """Processes that wanted a processor in the minute before the first run (getloadavg(3)); `None` if it does not count
    since what others take is known of each run."""
    spent: ProcessorTime = ProcessorTime()
    """While runs were under way."""
    late_ms: list[float] = field(default_factory=list)
    """Lateness of each run's senders at 1 % of their starts or writes."""

    @contextmanager
    def running(self, *marks: str) -> Iterator[None]:
        """Measures while a run is under way in labs whose processes have these marks in their environment."""
        before = _read(marks)
        yield
        self.spent += _between(before, _read(marks))


@dataclass(frozen=True)
class _Reading:
    """Sums since the machine was started; those of processes are of the ones that are alive, with dead children."""

    total_s: float
    user_s: float
    idle_s: float
    stolen_s: float
    own_s: float
    others_s: float


def _read(marks: tuple[str, ...]) -> _Reading:
    with Path("/proc/stat").open() as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    user, nice, system, idle, waiting, interrupts, soft_interrupts, stolen = (tick / TICKS_PER_S for tick in ticks)
    own_s, others_s = _processes(marks)
    return _Reading(
        total_s=user + nice + system + idle + waiting + interrupts + soft_interrupts + stolen,
        user_s=user + nice,
        idle_s=idle + waiting,
        stolen_s=stolen,
        own_s=own_s,
        others_s=others_s,
    )


def _between(before: _Reading, after: _Reading) -> ProcessorTime:
    own_s = after.own_s - before.own_s
    # Processes outside this process' PID namespace are seen in the machine's sum only.
    unseen_s = after.user_s - before.user_s - own_s
    return ProcessorTime(
        total_s=after.total_s - before.total_s,
        idle_s=after.idle_s - before.idle_s,
        stolen_s=after.stolen_s - before.stolen_s,
        own_s=own_s,
        others_s=max(0.0, after.others_s - before.others_s, unseen_s),
    )


def _processes(marks: tuple[str, ...]) -> tuple[float, float]:
    """Seconds of our own processes and of all others.

    A process that ends in between is in its parent's sum of dead children: so nothing is lost that was short.
    """
    parents: dict[int, int] = {}
    spent_s: dict[int, float] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with suppress(OSError):
            words = (folder / "stat").read_text().rpartition(")")[2].split()
            if not int(words[6]) & PF_KTHREAD:
                pid = int(folder.name)
                parents[pid] = int(words[1])
                spent_s[pid] = sum(map(int, words[11:15])) / TICKS_PER_S
    own = {os.getpid(), *(pid for mark in marks for pid, _ in marked(mark))}
    own_s = sum(spent for pid, spent in spent_s.items() if _descends(pid, own, parents))
    return own_s, sum(spent_s.values()) - own_s


def _descends(pid: int, own: set[int], parents: dict[int, int]) -> bool:
    # Parents are numbers that were read one after the other: a number used again could make a circle.
    for _ in range(len(parents)):
        if pid in own:
            return True
        pid = parents.get(pid, 0)
        if not pid:
            return False
    return False
