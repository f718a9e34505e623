"""Two hosts, two switches and the paths between these: namespaces and veth pairs. Forwarding is added later."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anabranch.deploy.netlink.namespace import inside
from anabranch.lab.fabric import iproute, offload
from anabranch.lab.traffic.play import Endpoint

WEIGHTS = (4, 3, 2, 1)
HOST_DEVICE = "eth0"
SOURCE, TARGET, SINK = "10.1.0.1", "10.2.0.1", "10.2.0.9"
"""Addresses. Packets to the sink take the target's path, and the target drops them (another MAC address)."""
SOURCE_MAC, TARGET_MAC, SINK_MAC = "02:ab:00:00:01:01", "02:ab:00:00:02:01", "02:ab:00:00:02:09"
MARK = "ANABRANCH_BENCH"


@dataclass(frozen=True)
class Wiring:
    """Requirements of a kind of forwarding on the network."""

    routed: bool = False
    """Switches are routers: hosts address frames to them, not to each other."""
    together: bool = False
    """Both switches are one process, in one namespace."""
    frames_only: bool = False
    """It takes nothing but frames (native XDP). A veth gets these only if it polls, which coalescing (GRO) turns on."""
    direct: bool = False
    """A cable between the hosts, and no switches."""


@dataclass(frozen=True)
class Switch:
    """One of the two switches."""

    number: int
    """Number: 1 next to the source, 2 next to the target."""
    namespace: str

    @property
    def near(self) -> str:
        """The prefix of the host that is linked to it."""
        return f"10.{self.number}.0.0/16"

    @property
    def far(self) -> str:
        """The prefix of the host behind the paths."""
        return f"10.{3 - self.number}.0.0/16"

    @property
    def host_port(self) -> str:
        """The device that leads to the host."""
        return f"host{self.number}"

    @property
    def path_ports(self) -> list[str]:
        """The devices that lead to the other switch."""
        return [f"path{self.number}.{path}" for path in range(len(WEIGHTS))]

    @property
    def ports(self) -> list[str]:
        """All its devices."""
        return [self.host_port, *self.path_ports]

    def mac(self, port: str) -> str:
        """Ethernet address of one of its devices."""
        return f"02:ab:01:00:{self.number:02x}:{self.ports.index(port):02x}"


@dataclass(frozen=True)
class TwoHops:
    """The whole network."""

    source: Endpoint
    target: Endpoint
    first: Switch
    second: Switch
    folder: Path
    """Folder for the files of a forwarder; removed with the rest."""
    offloads: bool
    """Whether hosts hand over segments of up to 64 KB with their checksums to do, and switches pass them on so."""

    @property
    def switches(self) -> tuple[Switch, Switch]:
        """Both switches, in the direction of the data."""
        return self.first, self.second


@contextmanager
def two_hops(folder: Path, wiring: Wiring, *, offloads: bool) -> Iterator[TwoHops]:
    """Creates the network, and removes it with everything that runs in it.

    Args:
        folder: Of one's own, empty.
        wiring: What is to forward needs.
        offloads: As in `TwoHops`.

    Raises:
        AnabranchError: the kernel refuses something, or a privilege lacks.

    """
    name = f"anabranch.datapath-{os.getpid()}-{secrets.token_hex(3)}"
    mark = f"{MARK}={name}"
    source, target = f"{name}.source", f"{name}.target"
    first, second = (f"{name}.switches",) * 2 if wiring.together else (f"{name}.first", f"{name}.second")
    names = list(dict.fromkeys((source, first, second, target)))
    try:
        iproute.make(names, mark)
        for namespace in names:
            with inside(namespace):
                _no_ipv6()
        made = TwoHops(
            Endpoint(source, SOURCE), Endpoint(target, TARGET), Switch(1, first), Switch(2, second), folder, offloads
        )
        devices = {source: [HOST_DEVICE], target: [HOST_DEVICE]}
        if wiring.direct:
            cable = f"link add dev {HOST_DEVICE} address {SOURCE_MAC} type veth peer name {HOST_DEVICE}"
            iproute.batch("ip", source, [f"{cable} address {TARGET_MAC} netns {target}"])
        else:
            _link(made)
            for switch in made.switches:
                devices.setdefault(switch.namespace, []).extend(switch.ports)
        _address(made, wiring.routed)
        if not offloads:
            for namespace, ports in devices.items():
                with inside(namespace):
                    offload.turn_off(ports)
        if wiring.frames_only:
            for namespace in (source, target):
                coalesce = ["ethtool", "-K", HOST_DEVICE, "gro", "on"]
                subprocess.run(["nsenter", f"--net=/run/netns/{namespace}", *coalesce], check=True, timeout=60)
        yield made
    finally:
        iproute.end_inside(names, mark)
        iproute.remove(names)


def _link(made: TwoHops) -> None:
    first, second = made.switches
    for host, mac, switch in ((made.source, SOURCE_MAC, first), (made.target, TARGET_MAC, second)):
        port = f"link add dev {switch.host_port} address {switch.mac(switch.host_port)} type veth"
        iproute.batch("ip", switch.namespace, [f"{port} peer name {HOST_DEVICE} address {mac} netns {host.namespace}"])
    for port, other in zip(first.path_ports, second.path_ports, strict=True):
        peer = f"peer name {other} address {second.mac(other)} netns {second.namespace}"
        iproute.batch("ip", first.namespace, [f"link add dev {port} address {first.mac(port)} type veth {peer}"])
    for switch in made.switches:
        iproute.batch("ip", switch.namespace, (f"link set dev {port} up" for port in switch.ports))


def _address(made: TwoHops, routed: bool) -> None:
    """Gives hosts their addresses, and the MAC addresses of whom they send to: nobody asks for them."""
    far = {
        made.source: [(TARGET, TARGET_MAC), (SINK, SINK_MAC)],
        made.target: [(SOURCE, SOURCE_MAC)],
    }
    for host, switch in zip((made.source, made.target), made.switches, strict=True):
        lines = ["link set lo up", f"address add {host.address}/8 dev {HOST_DEVICE}", f"link set dev {HOST_DEVICE} up"]
        for address, mac in far[host]:
            seen = switch.mac(switch.host_port) if routed else mac
            lines.append(f"neighbour add {address} lladdr {seen} dev {HOST_DEVICE} nud permanent")
        iproute.batch("ip", host.namespace, lines)


def _no_ipv6() -> None:
    # Neighbour discovery would put packets of its own into every count.
    for which in ("all", "default"):
        setting = Path(f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6")
        if setting.exists():
            setting.write_text("1")
