"""A leaf-spine fabric of Linux kernels that route: a namespace for each switch and host, veth pairs between them."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.deploy.control import file
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.netlink import kernel
from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.namespace import inside
from anabranch.deploy.targets.linux.observe import LinuxState, read
from support.needs import brings
from support.waiting import DEADLINE_S

SYSCTLS = {
    "net/ipv4/ip_forward": "1",
    "net/ipv6/conf/all/forwarding": "1",
    "net/ipv4/fib_multipath_hash_policy": "1",
    "net/ipv6/fib_multipath_hash_policy": "1",
    "net/ipv6/conf/default/keep_addr_on_down": "1",
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
}
PORT = 5000
QUIET_S = 5.0
"""Silence after which nothing more is waited for: no measure of speed, only of never."""


@dataclass
class RoutedFabric:
    """Switches `leaf0`, ..., `spine0`, ... with ports called `leaf0-spine0`; host h is on leaf h."""

    leaves: int = 2
    spines: int = 2
    parallel: int = 1
    """Links between a leaf and a spine; the second is called `leaf0-spine0-1`."""
    bare: Sequence[str] = ()
    """Switches without addresses, which are of another kind: they pass frames on as they are."""
    datapath: str = "linux"
    """What the switches are that have addresses."""
    settings: str = '[measure]\naudit = "10 min"\n[damping]\nuse = false\n'
    """Further tables of the file."""
    reached: dict[str, str] = field(default_factory=dict)
    """Keys by which some switches are reached; the others are in their namespaces."""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def links(self) -> list[tuple[str, str, int]]:
        """Leaf, spine and number of each link between the two."""
        ends = [(f"leaf{leaf}", f"spine{spine}") for leaf in range(self.leaves) for spine in range(self.spines)]
        return [(leaf, spine, number) for leaf, spine in ends for number in range(self.parallel)]

    def namespace(self, node: str) -> str:
        """File of a node's namespace."""
        return f"/proc/{self.processes[node].pid}/ns/net"

    def run(self, node: str, *command: str) -> str:
        """Runs a command in a node's namespace; what it printed."""
        entered = ["nsenter", f"--net={self.namespace(node)}", *command]
        run = subprocess.run(entered, capture_output=True, text=True, check=False)
        assert run.returncode == 0, (command, run.stderr)
        return run.stdout

    def ip(self, node: str, *lines: str) -> None:
        """Runs lines of `ip` in a node's namespace."""
        entered = ["nsenter", f"--net={self.namespace(node)}", "ip", "-batch", "-"]
        run = subprocess.run(entered, input="\n".join(lines), capture_output=True, text=True, check=False)
        assert run.returncode == 0, (lines, run.stderr)

    def sysctl(self, node: str, values: dict[str, str]) -> None:
        """Sets values of a node's namespace."""
        with inside(self.namespace(node)):
            for name, value in values.items():
                Path("/proc/sys", name).write_text(value)

    def link(self, end: str, up: bool) -> None:
        """Sets one end of a link down or up, by its name: the other end loses or gets its carrier."""
        self.ip(end.partition("-")[0], f"link set {end} {'up' if up else 'down'}")

    def interpose(self, leaf: str, spine: str) -> None:
        """Puts a bridge into a link, whose queue towards the spine drops most of what comes, unseen by both ends.

        It lets LLDP frames through (`group_fwd_mask`), so that the cable seems right.
        """
        near, far = port(leaf, spine), port(spine, leaf)
        home = self.processes["wire"] = subprocess.Popen(["unshare", "--net", "sleep", "600"])
        self._await(["wire"])
        addresses = self.addresses(leaf, spine, 0)
        self.ip(leaf, f"link del {near}")
        self.ip("wire", "link add wire type bridge group_fwd_mask 0x4000", "link set wire up")
        for node, name, theirs in ((leaf, near, addresses[0]), (spine, far, addresses[1])):
            self.ip(node, f"link add {name} type veth peer name w{name} netns {home.pid}")
            self.ip(node, *(f"addr add {one} dev {name}" + _nodad(one) for one in theirs), f"link set {name} up")
            self.ip("wire", f"link set w{name} master wire up")
        self.run("wire", "tc", *f"qdisc add dev w{far} root tbf rate 400kbit burst 2k limit 4k".split())

    def pass_frames(self, spine: str) -> None:
        """Has frames pass a spine with the addresses they came with: uplinks have the address that gateways have."""
        for net, (leaf, other, _) in enumerate(self.links):
            if other == spine:
                uplink = port(leaf, spine)
                self.ip(leaf, f"link set {uplink} address 02:00:00:00:00:01")
                for gateway in (f"10.9.{net}.2", f"fd00:9:{net}::2"):
                    self.ip(leaf, f"neigh replace {gateway} lladdr 02:00:00:00:00:01 dev {uplink} nud permanent")

    def start(self) -> None:
        """Makes namespaces, links and addresses."""
        leaves, spines = (
            [f"{tier}{number}" for number in range(count)]
            for tier, count in (("leaf", self.leaves), ("spine", self.spines))
        )
        hosts = [f"host{number}" for number in range(self.leaves)]
        nodes = [*leaves, *spines, *hosts]
        for node in nodes:
            self.processes[node] = subprocess.Popen(["unshare", "--net", "sleep", "600"])
        self._await(nodes)
        for node in nodes:
            self.sysctl(node, SYSCTLS)
        lines: dict[str, list[str]] = {node: ["link set lo up"] for node in nodes}
        made = []
        pairs = [*self.links, *((leaf, host, 0) for leaf, host in zip(leaves, hosts, strict=True))]
        for a, b, number in pairs:
            names = port(a, b, number), port(b, a, number)
            first, second = (
                f"{name} netns {self.processes[node].pid}" for name, node in zip(names, (a, b), strict=True)
            )
            made.append(f"link add {first} type veth peer name {second}")
            for node, name, addresses in zip((a, b), names, self.addresses(a, b, number), strict=True):
                if node not in self.bare:
                    lines[node] += [f"addr add {address} dev {name}" + _nodad(address) for address in addresses]
                lines[node].append(f"link set {name} up")
        subprocess.run(["ip", "-batch", "-"], input="\n".join(made), text=True, check=True)
        for leaf, host in enumerate(hosts):
            lines[host] += [f"route add default via 10.1.{leaf}.254", f"route add ::/0 via fd00:1:{leaf}::fe"]
        for node, batch in lines.items():
            self.ip(node, *batch)

    def _await(self, nodes: Iterable[str]) -> None:
        """Waits until the processes of nodes have left the namespace of the test."""
        mine = Path("/proc/thread-self/ns/net").readlink()
        deadline = time.monotonic() + DEADLINE_S
        for node in nodes:
            while Path(self.namespace(node)).readlink() == mine:
                assert time.monotonic() < deadline
                time.sleep(0.001)

    def stop(self) -> None:
        """Ends all namespaces."""
        for process in self.processes.values():
            process.kill()
            process.wait()

    def addresses(self, a: str, b: str, number: int) -> tuple[list[str], list[str]]:
        """Addresses of both ends of a link, with the lengths of their prefixes."""
        if b.startswith("host"):
            leaf = int(a.removeprefix("leaf"))
            return (
                [f"10.1.{leaf}.254/24", f"fd00:1:{leaf}::fe/64"],
                [f"10.1.{leaf}.1/24", f"fd00:1:{leaf}::1/64"],
            )
        net = self.links.index((a, b, number))
        return [f"10.9.{net}.1/24", f"fd00:9:{net}::1/64"], [f"10.9.{net}.2/24", f"fd00:9:{net}::2/64"]

    def table(self, switch: str) -> str:
        """`[switch.NAME]`."""
        ports: dict[str, list[str]] = {}
        gateways: dict[str, list[str]] = {}
        pairs = [*self.links, *((f"leaf{leaf}", f"host{leaf}", 0) for leaf in range(self.leaves))]
        for a, b, number in pairs:
            ends = self.addresses(a, b, number)
            for node, other, theirs in ((a, b, ends[1]), (b, a, ends[0])):
                if node == switch:
                    ports.setdefault(other, []).append(port(node, other, number))
                    if not other.startswith("host"):
                        gateways.setdefault(other, []).extend(one.partition("/")[0] for one in theirs)
        reached = self.reached.get(switch, f'namespace = "{self.namespace(switch)}"')
        lines = [f"[switch.{switch}]", f"ports = {_inline(ports)}", reached]
        if switch not in self.bare:
            lines += [f'datapath = "{self.datapath}"', f"gateways = {_inline(gateways)}"]
        return "\n".join(lines)

    def text(self, policy: str = 'weights = "capacity"', more: dict[str, str] | None = None) -> str:
        """`fabric.toml`; `more` has further keys of some switches."""
        lines = ['[fabric]\nkind = "leaf-spine"', f"leaves = {self.leaves}\nspines = {self.spines}"]
        lines += [f"parallel_links = {self.parallel}" if self.parallel > 1 else "", "hosts_per_leaf = 1"]
        lines += ['link = { rate = "10 Gbps" }', f"[policy]\n{policy}"]
        lines += ['[listen]\nhttp = "127.0.0.1:0"', self.settings]
        switches = [f"leaf{number}" for number in range(self.leaves)]
        switches += [f"spine{number}" for number in range(self.spines)]
        lines += [self.table(switch) + "\n" + (more or {}).get(switch, "") for switch in switches]
        for leaf in range(self.leaves):
            lines.append(f'[leaf.leaf{leaf}]\nprefixes = ["10.1.{leaf}.0/24", "fd00:1:{leaf}::/64"]')
            lines.append(f'[host.host{leaf}]\naddresses = ["10.1.{leaf}.1", "fd00:1:{leaf}::1"]')
        return "\n".join(lines)

    def file(self, policy: str = 'weights = "capacity"', more: dict[str, str] | None = None) -> FabricFile:
        """The same, read."""
        return file.parse(self.text(policy, more), "fabric.toml")

    def state(self, switch: str) -> LinuxState:
        """All of ours in a switch; `ip` before 6.12 shows the low byte of a weight only."""
        with inside(self.namespace(switch)), Connection() as connection:
            return read(connection, 0, kernel.devices(connection))

    def split(self, switch: str, prefix: str) -> dict[str, int]:
        """Weight by device of the group that a route leads to; empty for a route that drops."""
        state = self.state(switch)
        (route,) = (route for route in state.routes.values() if str(route.prefix) == prefix)
        group = state.groups.get(route.nexthop_id)
        return {state.nexthops[number].hop.device: weight for number, weight in group.members} if group else {}

    def owners(self, switch: str, prefix: str) -> list[str]:
        """Device of each bucket of the group that a route leads to."""
        state = self.state(switch)
        (route,) = (route for route in state.routes.values() if str(route.prefix) == prefix)
        with inside(self.namespace(switch)), Connection() as connection:
            return [state.nexthops[number].hop.device for number in kernel.buckets(connection, route.nexthop_id)]

    def sent(self, switch: str) -> dict[str, int]:
        """Packets that have left each interface of a switch."""
        links = json.loads(self.run(switch, "ip", "-j", "-s", "link"))
        return {one["ifname"]: one["stats64"]["tx"]["packets"] for one in links}

    def arrived(self, flows: int, source: int = 0, target: int = 1, version: int = 4) -> int:
        """Sends one packet each of some connections from one host to another; how many arrived."""
        family = socket.AF_INET if version == 4 else socket.AF_INET6
        address = f"10.1.{target}.1" if version == 4 else f"fd00:1:{target}::1"
        with ExitStack() as stack:
            with inside(self.namespace(f"host{target}")):
                receiver = stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
            with inside(self.namespace(f"host{source}")):
                senders = [stack.enter_context(socket.socket(family, socket.SOCK_DGRAM)) for _ in range(flows)]
            receiver.bind(("", PORT))
            receiver.settimeout(QUIET_S)
            count = 0
            for one in senders:
                one.sendto(b"", (address, PORT))
            while count < flows:
                try:
                    receiver.recv(64)
                except TimeoutError:
                    break
                count += 1
            return count

    @contextmanager
    def load(self, node: str, address: str) -> Iterator[None]:
        """Sends 1000-byte packets from a node, 4 Mbit/s or what the machine can, until the block ends."""
        ended = threading.Event()
        with inside(self.namespace(node)):
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with sender:

            def send() -> None:
                while not ended.wait(0.002):
                    with suppress(OSError):
                        sender.sendto(bytes(1000), (address, PORT))

            thread = threading.Thread(target=send, daemon=True)
            thread.start()
            try:
                yield
            finally:
                ended.set()
                thread.join(DEADLINE_S)


def port(node: str, other: str, number: int = 0) -> str:
    """Name of the port of a node towards another."""
    return f"{node}-{other}" + (f"-{number}" if number else "")


def _nodad(address: str) -> str:
    return " nodad" if ":" in address else ""


def _inline(table: dict[str, list[str]]) -> str:
    return "{ " + ", ".join(f"{key} = {json.dumps(values)}" for key, values in table.items()) + " }"


@contextmanager
@brings("root")
def routed_fabric(
    leaves: int = 2, spines: int = 2, parallel: int = 1, bare: Sequence[str] = (), datapath: str = "linux"
) -> Iterator[RoutedFabric]:
    """A started one."""
    fabric = RoutedFabric(leaves, spines, parallel, bare, datapath)
    try:
        fabric.start()
        yield fabric
    finally:
        fabric.stop()
