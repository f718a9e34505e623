"""Forwarders of the two switches: eBPF at tc or XDP, Open vSwitch, the kernel's nexthop groups, a bridge."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Protocol

from anabranch import _core
from anabranch.deploy.netlink.namespace import inside
from anabranch.deploy.targets import verbs
from anabranch.deploy.targets.ovs.daemons import SWITCH, OpenVSwitch
from anabranch.deploy.targets.ovs.options import Options
from anabranch.deploy.targets.registry import target
from anabranch.lab.fabric import iproute
from two_hops import SINK, SINK_MAC, SOURCE, SOURCE_MAC, TARGET, TARGET_MAC, WEIGHTS, Switch, TwoHops, Wiring

PINS = Path("/sys/fs/bpf")
GAP_NS = 500_000
"""Gap between flowlets in nanoseconds: LetFlow's own."""
BRIDGE = "br0"
XDP = "xdp"
PLAIN, TOGETHER, ROUTED, DIRECT = Wiring(), Wiring(together=True), Wiring(routed=True), Wiring(direct=True)


class Forwarder(Protocol):
    """A kind of forwarding."""

    @property
    def name(self) -> str:
        """Name in the table."""
        ...

    @property
    def paths(self) -> int:
        """Number of paths it uses."""
        ...

    @property
    def wiring(self) -> Wiring:
        """Requirements on the network."""
        ...

    def forwarding(self, net: TwoHops) -> AbstractContextManager[tuple[int, ...]]:
        """Forwards in both directions for a while; gives the processes that do it, if it is not the kernel.

        Raises:
            AnabranchError: it cannot be had here.

        """
        ...


@dataclass(frozen=True)
class Ebpf:
    """A scheme's own program at the devices where packets come in."""

    scheme: str
    hook: str = "ingress"
    paths: int = len(WEIGHTS)

    @property
    def name(self) -> str:
        """Name in the table."""
        return f"eBPF {'XDP' if self.hook == XDP else 'tc'}: {self.scheme if self.paths > 1 else 'one path'}"

    @property
    def wiring(self) -> Wiring:
        """Requirements on the network, as in `Forwarder`."""
        return Wiring(frames_only=self.hook == XDP)

    @contextmanager
    def forwarding(self, net: TwoHops) -> Iterator[tuple[int, ...]]:
        """Forwards, as in `Forwarder`."""
        pins = PINS / net.folder.name
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, pins, ignore_errors=True)
            for switch in net.switches:
                with inside(switch.namespace):
                    paths = [socket.if_nametoindex(port) for port in switch.path_ports]
                    host = socket.if_nametoindex(switch.host_port)
                    for name, scheme, targets, weights, sources in (
                        ("out", self.scheme, paths[: self.paths], WEIGHTS[: self.paths], [host]),
                        ("in", "slots", [host], [1], paths),
                    ):
                        made = _core.KernelDatapath.create(str(pins / f"{name}{switch.number}"), scheme, 1, 0)
                        stack.callback(made.remove)
                        made.put([self._group(switch, targets, weights)])
                        for source in sources:
                            made.attach(source, self.hook)
            yield ()

    def _group(self, switch: Switch, targets: list[int], weights: Sequence[int]) -> _core.KernelGroup:
        return _core.KernelGroup(
            name="all",
            prefixes=[],
            targets=targets,
            weights=list(weights),
            up=[True] * len(targets),
            output="redirect",
            seed=switch.number,
            pause_ns=GAP_NS,
        )


@dataclass(frozen=True)
class SelectGroup:
    """Open vSwitch's userspace datapath over AF_PACKET, one for both switches; the plan as `anabranch apply` does."""

    recipe: str
    paths: int = len(WEIGHTS)
    wiring: Wiring = TOGETHER

    @property
    def name(self) -> str:
        """Name in the table."""
        return f"Open vSwitch: {self.recipe}"

    @contextmanager
    def forwarding(self, net: TwoHops) -> Iterator[tuple[int, ...]]:
        """Forwards, as in `Forwarder`."""
        enter = ["nsenter", f"--net=/run/netns/{net.first.namespace}", "--"]
        made = OpenVSwitch(net.folder, enter=enter, tso=net.offloads)
        try:
            made.start()
            for switch in net.switches:
                bridge = f"br{switch.number}"
                command = ["add-br", bridge, "--", "set", "bridge", bridge, "datapath_type=netdev", "fail_mode=secure"]
                for number, port in enumerate(switch.ports, 1):
                    command += ["--", "add-port", bridge, port, "--", "set", "interface", port]
                    command.append(f"ofport_request={number}")
                made.vsctl(*command)
                made.add_flows(bridge, [f"ip,nw_dst={switch.near},actions=output:1"])
                plan = net.folder / f"{bridge}.toml"
                plan.write_text(_plan(switch, self.recipe, f"seed = {switch.number}\n"))
                verbs.apply(target("ovs"), str(plan), Options(openflow=made.openflow(bridge)), dry_run=False)
            yield () if (pid := made.pid(SWITCH)) is None else (pid,)
        finally:
            made.stop()


@dataclass(frozen=True)
class NexthopGroup:
    """The kernel's own: a route to a nexthop group, put in by `anabranch apply --target linux`'s code."""

    recipe: str
    paths: int = len(WEIGHTS)
    wiring: Wiring = ROUTED

    @property
    def name(self) -> str:
        """Name in the table."""
        return f"nexthop group: {self.recipe}"

    @contextmanager
    def forwarding(self, net: TwoHops) -> Iterator[tuple[int, ...]]:
        """Forwards, as in `Forwarder`."""
        for switch, neighbour in zip(net.switches, reversed(net.switches), strict=True):
            gateways = _routers(switch, neighbour)
            plan = net.folder / f"linux{switch.number}.toml"
            plan.write_text(_plan(switch, self.recipe, more=f"gateways = {_list(gateways)}\n"))
            with inside(switch.namespace):
                verbs.apply(target("linux"), str(plan), None, dry_run=False)
        yield ()


@dataclass(frozen=True)
class RoutingEbpf:
    """A table's program as a router, beside the kernel's own route over the first path."""

    name: str = "eBPF tc, routed: slots"
    paths: int = len(WEIGHTS)
    wiring: Wiring = ROUTED

    @contextmanager
    def forwarding(self, net: TwoHops) -> Iterator[tuple[int, ...]]:
        """Forwards, as in `Forwarder`."""
        pins = PINS / net.folder.name
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, pins, ignore_errors=True)
            for switch, neighbour in zip(net.switches, reversed(net.switches), strict=True):
                gateways = _routers(switch, neighbour)
                iproute.batch("ip", switch.namespace, [f"route add {switch.far} via {gateways[0]}"])
                with inside(switch.namespace):
                    made = _core.KernelDatapath.create(str(pins / f"router{switch.number}"), "slots", 1, 1)
                    stack.callback(made.remove)
                    group = _core.KernelGroup(
                        name="far",
                        prefixes=[switch.far],
                        targets=[socket.if_nametoindex(port) for port in switch.path_ports],
                        weights=list(WEIGHTS),
                        up=[True] * len(WEIGHTS),
                        output="route",
                        seed=switch.number,
                        gateways=[ip_address(gateway) for gateway in gateways],
                    )
                    made.put([group])
                    made.attach(socket.if_nametoindex(switch.host_port), "ingress")
            yield ()


@dataclass(frozen=True)
class Cable:
    """A cable between the hosts: the measurement shows the hosts alone."""

    name: str = "a cable, no switch"
    paths: int = 1
    wiring: Wiring = DIRECT

    @contextmanager
    def forwarding(self, net: TwoHops) -> Iterator[tuple[int, ...]]:
        """Forwards, as in `Forwarder`."""
        del net
        yield ()


@dataclass(frozen=True)
class Bridge:
    """The kernel's bridge, over the first path alone."""

    name: str = "kernel bridge, one path"
    paths: int = 1
    wiring: Wiring = PLAIN

    @contextmanager
    def forwarding(self, net: TwoHops) -> Iterator[tuple[int, ...]]:
        """Forwards, as in `Forwarder`."""
        for switch in net.switches:
            lines = [f"link add dev {BRIDGE} type bridge stp_state 0 mcast_snooping 0"]
            lines += [f"link set dev {port} master {BRIDGE}" for port in switch.ports[:2]]
            near = [SOURCE_MAC] if switch.number == 1 else [TARGET_MAC, SINK_MAC]
            far = [TARGET_MAC, SINK_MAC] if switch.number == 1 else [SOURCE_MAC]
            iproute.batch("ip", switch.namespace, [*lines, f"link set dev {BRIDGE} up"])
            for port, addresses in zip(switch.ports, (near, far), strict=False):
                for mac in addresses:
                    command = ["nsenter", f"--net=/run/netns/{switch.namespace}"]
                    command += ["bridge", "fdb", "add", mac, "dev", port, "master", "static"]
                    subprocess.run(command, check=True, timeout=60)
        yield ()


def _routers(switch: Switch, neighbour: Switch) -> list[str]:
    """Makes a switch a router between its host and the paths; the gateway of each."""
    near = [(SOURCE, SOURCE_MAC)] if switch.number == 1 else [(TARGET, TARGET_MAC), (SINK, SINK_MAC)]
    lines = [f"address add 10.{switch.number}.255.254/16 dev {switch.host_port}"]
    lines += [f"neighbour add {one} lladdr {mac} dev {switch.host_port} nud permanent" for one, mac in near]
    for number, (port, other) in enumerate(zip(switch.path_ports, neighbour.path_ports, strict=True)):
        lines.append(f"address add {_gateway(switch, number)}/24 dev {port}")
        far = f"{_gateway(neighbour, number)} lladdr {neighbour.mac(other)}"
        lines.append(f"neighbour add {far} dev {port} nud permanent")
    iproute.batch("ip", switch.namespace, lines)
    with inside(switch.namespace):
        for key, value in (("ip_forward", 1), ("fib_multipath_hash_policy", 1), ("conf/all/rp_filter", 0)):
            Path(f"/proc/sys/net/ipv4/{key}").write_text(str(value))
    return [_gateway(neighbour, number) for number in range(len(WEIGHTS))]


def _gateway(switch: Switch, number: int) -> str:
    return f"10.9.{number}.{switch.number}"


def _plan(switch: Switch, recipe: str, head: str = "", more: str = "") -> str:
    return (
        f'{head}[[group]]\nname = "far"\nmatch = {{ ip_dst = "{switch.far}" }}\nports = {_list(switch.path_ports)}\n'
        f'{more}weights = [{", ".join(map(str, WEIGHTS))}]\nrecipe = "{recipe}"\n'
    )


def _list(texts: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{text}"' for text in texts) + "]"


def all_forwarders() -> list[Forwarder]:
    """All forwarders, in the order of the table."""
    schemes = ("slots", "score", "rendezvous", "flowlet", "spray", "cycle", "presto")
    return [
        Cable(),
        Bridge(),
        Ebpf("slots", paths=1),
        *(Ebpf(scheme) for scheme in schemes),
        Ebpf("slots", XDP, paths=1),
        *(Ebpf(scheme, XDP) for scheme in schemes),
        RoutingEbpf(),
        NexthopGroup("mpath"),
        NexthopGroup("resilient"),
        SelectGroup("dp_hash-twin"),
        SelectGroup("hash-gravity"),
    ]
