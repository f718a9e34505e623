"""Four paths between four pairs of hosts, over datapaths in the kernel, at a rate that this machine carries.

Two edge switches and four between them: a stage is four links, each of a host's rate. The paper's eight switches make
stages of four links too (its wiring is an image); here a packet passes three switches instead of four.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anabranch.deploy.marking import nftables as marking
from anabranch.deploy.netlink.namespace import inside
from anabranch.files.errors import AnabranchError
from anabranch.lab.calibration.ceiling import HEADROOM
from anabranch.lab.fabric import offload
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.switches.ebpf import groups as datapaths
from anabranch.lab.switches.ebpf import host_ports
from anabranch.lab.switches.ebpf.switching import kernel_switches
from anabranch.lab.traffic.play import Endpoint
from anabranch.lab.traffic.streams import Span, Stream, run

from .cases import PAIRS
from .schemes import Scheme

LEAVES = ("leaf0", "leaf1")
PATHS = 4
BUFFER = "300 KB"
"""Not stated by the paper; as in `studies/dbb/fig7`."""
SCENARIO = f"""\
[fabric]
kind = "leaf-spine"
leaves = 2
spines = {PATHS}
hosts_per_leaf = {PAIRS}
link = {{ rate = "10 Gbps", buffer = "{BUFFER}" }}
"""
RATES_MBPS = (50, 20, 10)
"""Rates of a link, a 200th of the paper's or less: the fastest that leaves a machine of two processors room."""
SEGMENTS_DEFAULT = 65535
"""Segments of a packet at most, Linux' default (linux/netdevice.h, GSO_MAX_SEGS)."""


@dataclass(frozen=True)
class Fabric:
    """A lab, and what its links have been set to."""

    lab: Lab
    ceiling_bps: float
    """Goodput of four connections of TCP at once where links bound nothing."""
    link_bps: int

    @property
    def endpoints(self) -> list[Endpoint]:
        """Senders, then receivers, pair by pair."""
        return [Endpoint(host.namespace, host.address) for host in self.lab.hosts.values()]

    @property
    def switch_devices(self) -> list[str]:
        """All ends of links that are at switches."""
        ends = (end for cable in self.lab.blueprint.cables for end in (cable.a, cable.b))
        return [end.device for end in ends if end.node not in self.lab.hosts]

    @property
    def uplinks(self) -> list[str]:
        """Uplinks by which data leaves the senders' leaf."""
        return [self.lab.interface(LEAVES[0], f"spine{path}") for path in range(PATHS)]

    def install(self, scheme: Scheme) -> None:
        """Has edges spread by a scheme, both ways.

        Raises:
            AnabranchError: the kernel refuses.

        """
        weights = scheme.weights or (1,) * PATHS
        datapaths.install(
            self.lab, scheme.datapath, weights={LEAVES: weights, LEAVES[::-1]: weights}, pause_ns=scheme.pause_ns
        )

    def whole_segments(self, whole: bool) -> None:
        """Whether hosts hand over up to 64 KB as one packet, which devices pass on so; or single packets.

        `gso_max_segs` is what ends it: `tso off gso off` only has them cut up behind the host's queue, all at once.
        Whole ones go through no XDP, so that hosts see their packets in the network's queues (`lab_host_ports`).

        Raises:
            AnabranchError: a device refuses.

        """
        folder = kernel_switches(self.lab).folder(host_ports.NAME).parent
        with inside(self.lab.blueprint.switch_namespace):
            host_ports.join(folder)
            if not whole:
                host_ports.part(folder, self.lab.blueprint)
        with inside(self.lab.blueprint.switch_namespace):
            offload.turn(self.switch_devices, whole)
        for host in self.lab.hosts.values():
            with inside(host.namespace):
                offload.turn([host.interface], whole)
            marking.set_segments(host.interface, SEGMENTS_DEFAULT if whole else 1, enter=host.enter)


@contextmanager
def fabric(scheme: Scheme, link_mbps: int | None = None) -> Iterator[Fabric]:
    """Makes it, sees what it carries under a scheme, gives links their rates, and removes it at the end.

    Raises:
        AnabranchError: no privilege, a kernel without what datapaths take, or a machine that is too slow.

    """
    name = f"dbb-{os.getpid()}"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.toml"
        file.write_text(SCENARIO)
        with Lab.temporary(file, name, switch="ebpf") as lab:
            opened = Fabric(lab, 0.0, 0)
            for host in lab.hosts.values():
                marking.single_segments(host.interface, enter=host.enter)
            opened.install(scheme)
            ceiling = ceiling_bps(opened)
            room = HEADROOM * ceiling / PATHS
            fitting = [rate for rate in RATES_MBPS if rate * 1e6 <= room]
            rate_mbps = link_mbps or next(iter(fitting), RATES_MBPS[-1])
            if rate_mbps * 1e6 > room:
                raise AnabranchError(
                    f"links: of {rate_mbps} Mb/s: this machine carries {ceiling / 1e6:.0f} Mb/s; leave it to this"
                )
            link_bps = rate_mbps * 1_000_000
            for cable in lab.blueprint.cables:
                lab.set_link(cable.a.node, cable.b.node, rate_bps=link_bps, parallel=cable.parallel)
            yield Fabric(lab, ceiling, link_bps)


def ceiling_bps(opened: Fabric) -> float:
    """Goodput of four connections in single packets, as fast as the machine goes."""
    streams = [Stream(pair, PAIRS + pair, 1e10) for pair in range(PAIRS)]
    return run(opened.endpoints, streams, Span(0.3, 0.7)).goodput_bps
