"""A leaf-spine fabric of real switches in the test's own namespace, with a patch panel between their ports.

Every port is a veth whose other end is at the panel, which passes frames on as it is patched: cables can be
swapped, joined or cut while no carrier changes, and the test can hear and say what it likes at any port.
"""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import repeat
from pathlib import Path

from anabranch.deploy.control import file
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.targets.ovs.daemons import OpenVSwitch
from support.needs import need_open_vswitch
from support.own_datapaths import ip

ETH_P_ALL = 3
SPINES = {"spine0": ("p0", "p1"), "spine1": ("q0", "q1")}
LEAVES = {"leaf0": ("a0", "a1", "ah"), "leaf1": ("b0", "b1", "bh")}
CABLES = {"a0": "p0", "a1": "q0", "b0": "p1", "b1": "q1"}
"""Port of the leaf, and of the spine, as the file has them."""
NETWORKS = {"a0": "10.9.0", "a1": "10.9.1"}
"""First bytes of the addresses of links of a leaf that routes: it has .1, and its neighbour .2."""
INTERVAL = "100 ms"


class Panel:
    """The patch panel: where a frame goes that comes out of a port, by the port's name."""

    def __init__(self) -> None:
        self._sockets: dict[str, socket.socket] = {}
        self.patches: dict[str, tuple[str, ...]] = {}
        self.losing: dict[str, Iterator[bool]] = {}
        """Of ports whose frames get lost: whether the next one does."""
        self.frames: list[tuple[str, bytes]] = []
        """What came out of ports, with the port."""
        self.listen: Callable[[str, bytes], None] = lambda port, frame: self.frames.append((port, frame))
        self._ends = threading.Event()
        self._threads: list[threading.Thread] = []

    def add(self, port: str) -> None:
        """Adds a port's device and the end of it at the panel."""
        ip("link", "add", port, "type", "veth", "peer", f"w{port}")
        for end in (port, f"w{port}"):
            Path(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6").write_text("1")
            ip("link", "set", end, "up")
        # What XDP redirects to a veth is taken by its peer only if that polls, as it does for GRO (`veth_xdp_xmit`).
        subprocess.run(["ethtool", "-K", f"w{port}", "gro", "on"], check=True, capture_output=True)
        one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        one.bind((f"w{port}", ETH_P_ALL))
        one.settimeout(0.1)
        self._sockets[port] = one

    def patch(self, cables: Mapping[str, str]) -> None:
        """Lays cables, each between two ports; all that were laid before are gone."""
        self.patches = {port: (other,) for a, b in cables.items() for port, other in ((a, b), (b, a))}

    def say(self, port: str, frame: bytes) -> None:
        """Sends a frame into a port."""
        with suppress(OSError):
            self._sockets[port].send(frame)

    def start(self) -> None:
        """Begins to pass frames on."""
        for port in self._sockets:
            thread = threading.Thread(target=self._carry, args=(port,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Passes nothing on any more."""
        self._ends.set()
        for thread in self._threads:
            thread.join()
        for one in self._sockets.values():
            one.close()

    def _carry(self, port: str) -> None:
        while not self._ends.is_set():
            try:
                frame, address = self._sockets[port].recvfrom(2048)
            except OSError:
                continue
            if address[2] != socket.PACKET_OUTGOING:
                self.listen(port, frame)
                if next(self.losing.get(port, repeat(False))):
                    continue
                for other in self.patches.get(port, ()):
                    self.say(other, frame)


class CabledFabric:
    """Two leaves and two spines: bridges (`ovs`), datapaths in the kernel (`ebpf`), `leaf0` a kernel (`linux`).

    They are in one namespace, so one alone can be a kernel that routes.
    """

    def __init__(self, folder: Path, targets: Mapping[str, str]) -> None:
        self.targets = targets
        self.panel = Panel()
        self.open_vswitch = OpenVSwitch(folder)
        self._namespace = f"/proc/{os.getpid()}/task/{threading.get_native_id()}/ns/net"

    def start(self) -> None:
        """Makes ports and bridges, and lays the cables as the file has them."""
        ports = LEAVES | SPINES
        for port in (port for names in ports.values() for port in names):
            self.panel.add(port)
        if self.targets["leaf0"] == "linux":
            for port, network in NETWORKS.items():
                ip("address", "add", f"{network}.1/24", "dev", port)
                ip("neighbour", "add", f"{network}.2", "lladdr", "02:00:00:00:00:02", "dev", port)
        bridges = [name for name, target in self.targets.items() if target == "ovs"]
        if bridges:
            self.open_vswitch.start()
            command: list[str] = []
            for bridge in bridges:
                command += ["--", "add-br", bridge, "--", "set", "bridge", bridge, "datapath_type=netdev"]
                command += ["fail-mode=secure"]
                for port in ports[bridge]:
                    command += ["--", "add-port", bridge, port]
            self.open_vswitch.vsctl(*command[1:])
        self.panel.patch(CABLES)
        self.panel.start()

    def text(self, settings: str = "", swapped: bool = False, weights: str = "capacity") -> str:
        """The fabric file; `swapped`: the file has the spines of `leaf0` the other way round."""
        lines = ['[fabric]\nkind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1']
        lines += [f'[policy]\nweights = "{weights}"\nowner = 3', '[listen]\nhttp = "127.0.0.1:0"', settings]
        if "[wiring]" not in settings:
            lines.append(f'[wiring]\ninterval = "{INTERVAL}"')
        for number, (leaf, (to0, to1, host)) in enumerate(LEAVES.items()):
            first, second = (to1, to0) if swapped and leaf == "leaf0" else (to0, to1)
            ports = f'{{ host{number} = "{host}", spine0 = "{first}", spine1 = "{second}" }}'
            lines.append(f"[switch.{leaf}]\nports = {ports}\n{self._keys(leaf)}")
            if self.targets[leaf] == "linux":
                lines.append(f'gateways = {{ spine0 = "{NETWORKS[first]}.2", spine1 = "{NETWORKS[second]}.2" }}')
            lines.append(f'[leaf.{leaf}]\nprefixes = ["10.1.{number}.0/24"]')
            lines.append(f'[host.host{number}]\naddresses = ["10.1.{number}.1"]')
        for spine, (to0, to1) in SPINES.items():
            lines.append(f'[switch.{spine}]\nports = {{ leaf0 = "{to0}", leaf1 = "{to1}" }}\n{self._keys(spine)}')
        return "\n".join(lines)

    def file(self, settings: str = "", swapped: bool = False, weights: str = "capacity") -> FabricFile:
        """The same, read."""
        return file.parse(self.text(settings, swapped, weights), "fabric.toml")

    def _keys(self, switch: str) -> str:
        if self.targets[switch] == "ovs":
            return f'openflow = "{self.open_vswitch.openflow(switch)}"'
        return f'datapath = "{self.targets[switch]}"\nnamespace = "{self._namespace}"'


@contextmanager
def cabled_fabric(folder: Path, leaves: str, spines: str, **others: str) -> Iterator[CabledFabric]:
    """A started one, for a namespace of its own: targets of leaves, of spines, and of single switches by name."""
    if "ovs" in (leaves, spines):
        need_open_vswitch()
    fabric = CabledFabric(folder, dict.fromkeys(LEAVES, leaves) | dict.fromkeys(SPINES, spines) | others)
    try:
        fabric.start()
        yield fabric
    finally:
        fabric.panel.stop()
        fabric.open_vswitch.stop()
