"""A lab's switches as bridges of an Open vSwitch of its own, in the userspace datapath."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from anabranch.deploy.targets.ovs.daemons import DATABASE, SWITCH, OpenVSwitch
from anabranch.files.errors import AnabranchError
from anabranch.lab.fabric.blueprint import Blueprint, enter
from anabranch.lab.fabric.machine import check_machine
from anabranch.lab.fabric.record import Record
from anabranch.lab.fabric.socket_buffers import widen
from anabranch.lab.fabric.switching import Switching
from anabranch.lab.fabric.topology import Lab

RATE_KEY = "anabranch-rate-bps"
SEND_TIMEOUT_S = 10
CPUCLOCK_SCHED = 2
"""A process' clock, with its number negated above: what clock_getcpuclockid(3) gives (linux/posix-timers.h)."""


PROGRAMS = {
    "ovs-vswitchd": "openvswitch-switch",
    "ovsdb-server": "openvswitch-switch",
    "ovs-ofctl": "openvswitch-common",
}
"""Programs that must be installed, and the Debian package that has each."""


class Bridges(Switching):
    """A lab's switches as bridges of its own Open vSwitch (`switching.Switching`)."""

    def __init__(self, record: Record, blueprint: Blueprint) -> None:
        super().__init__(record, blueprint)
        mark, _, value = record.mark.partition("=")
        self.open_vswitch = OpenVSwitch(
            record.folder / "ovs",
            enter=enter(blueprint.switch_namespace),
            tso=record.tso,
            environment={mark: value},
        )

    def check(self) -> None:
        """All that a lab can ask for, bridges can be."""

    def check_machine(self) -> None:
        """Daemons and tools of Open vSwitch."""
        check_machine(PROGRAMS)

    def make(self) -> None:
        """Starts database and daemon."""
        self.open_vswitch.folder.mkdir(mode=0o700)
        self.open_vswitch.start()

    def add(self, switch: str) -> None:
        """Without a rule a bridge forwards nothing."""
        self.open_vswitch.vsctl(*self._commands(switch))

    def ready(self) -> None:
        """Looks that all ports are there, and gives their sockets room."""
        # ovs-vsctl reports devices that could not be opened, but does not fail.
        faulty = self.open_vswitch.vsctl("--bare", "--columns=name,error", "find", "interface", "ofport=-1")
        broken = faulty.split("\n", 2)
        if len(broken) > 1:
            raise AnabranchError(f"Open vSwitch: {broken[0]}: {broken[1]}; give the node another name")
        self._give_room()

    def start(self) -> None:
        """Bridges and ports are as before, rules of a new `ovs-vswitchd` are none."""
        if self.open_vswitch.pid(DATABASE) is None:
            self.open_vswitch.start_database()
        if self.open_vswitch.pid(SWITCH) is None:
            self.open_vswitch.start_switch()
            self._give_room()

    def ended(self) -> list[str]:
        """Daemons."""
        return [daemon for daemon in (DATABASE, SWITCH) if self.open_vswitch.pid(daemon) is None]

    def forward(self, next_hops: Mapping[str, Mapping[str, str]]) -> None:
        """Adds a rule for each prefix, longer ones first."""
        for switch, towards in next_hops.items():
            number = {end.device: port for port, (end, _) in enumerate(self._blueprint.ports(switch), start=1)}
            self.open_vswitch.add_flows(
                switch,
                [
                    f"priority={prefix.rpartition('/')[2]},ip,nw_dst={prefix},actions=output:{number[device]}"
                    for prefix, device in towards.items()
                ],
            )

    def rated(self, device: str, rate_bps: int) -> None:
        """In the database, which controllers follow."""
        self.open_vswitch.vsctl("set", "interface", device, f"external_ids:{RATE_KEY}={rate_bps}")

    def policy(self) -> dict[str, Any]:
        """Weights that Open vSwitch's scorer honours."""
        return {"weights": "capacity", "recipe": "hash-gravity", "owner": 0}

    def switch_options(self, switch: str) -> dict[str, Any]:
        """Addresses of its sockets."""
        return {"openflow": self.open_vswitch.openflow(switch), "ovsdb": self.open_vswitch.database}

    def version(self) -> str:
        """The first line that `ovs-vswitchd` says of its version."""
        return self.open_vswitch.appctl("version").splitlines()[0]

    def cpu_ns(self) -> int | None:
        """Processor time of all threads of ovs-vswitchd."""
        pid = self.open_vswitch.pid(SWITCH)
        # Ticks of 10 ms, which /proc has, are more than a few hundred frames take.
        return None if pid is None else time.clock_gettime_ns(~pid << 3 | CPUCLOCK_SCHED)

    def _commands(self, bridge: str) -> Iterator[str]:
        """Arguments of one `ovs-vsctl` that makes a bridge whole."""
        yield from ("add-br", bridge, "--", "set", "bridge", bridge)
        yield from (f"datapath_type={self.open_vswitch.datapath_type}", "fail_mode=secure")
        yield "other_config:disable-in-band=true"
        # Without it ovs-vswitchd removes the shaping of every port it opens (ovs-vswitchd.conf.db(5), QoS, linux-noop).
        yield from ("--", "--id=@shaped", "create", "qos", "type=linux-noop")
        bfd_ms = self._record.bfd_ms
        for number, (end, neighbour) in enumerate(self._blueprint.ports(bridge), start=1):
            yield from ("--", "add-port", bridge, end.device, "--", "set", "port", end.device, "qos=@shaped")
            yield from ("--", "set", "interface", end.device)
            yield f"ofport_request={number}"
            if bfd_ms is not None and neighbour not in self._blueprint.hosts:
                yield from ("bfd:enable=true", f"bfd:min_tx={bfd_ms}", f"bfd:min_rx={bfd_ms}")

    def _give_room(self) -> None:
        """Lets queues hold what their limits say, however `ovs-vswitchd` was started."""
        bridge = self._blueprint.switches[0]
        # The sending socket is created with the first frame, here of a type for experiments (IEEE 802 section 9.2.2).
        frame = "ffffffffffff" + "02ab00000000" + "88b5" + "00" * 46
        deadline = time.monotonic() + SEND_TIMEOUT_S
        while not self._sends(bridge, frame, deadline):
            if time.monotonic() > deadline:
                log = self.open_vswitch.folder
                raise AnabranchError(f"ovs-vswitchd: sends nothing from {bridge}; its log in {log} says why")
            time.sleep(0.005)

    def _sends(self, bridge: str, frame: str, deadline: float) -> bool:
        try:
            self.open_vswitch.packet_out(bridge, f"in_port=controller packet={frame} actions=output:1")
        except AnabranchError:
            # After a crash the sockets of bridges exist before a process listens on them.
            if time.monotonic() > deadline:
                raise
            return False
        pid = self.open_vswitch.pid(SWITCH)
        return pid is not None and widen(pid)


def open_vswitch(lab: Lab) -> OpenVSwitch:
    """Open vSwitch of a lab's bridges.

    Raises:
        AnabranchError: its switches are others.

    """
    if not isinstance(lab.switching, Bridges):
        raise AnabranchError(f"lab {lab.name}: no Open vSwitch in it; make one with --switch ovs")
    return lab.switching.open_vswitch


SWITCHING = Bridges
"""The class that labs take (`lab.fabric.switching`)."""
