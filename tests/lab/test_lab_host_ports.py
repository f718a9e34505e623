"""Ports of hosts, where packets enter the network: real TCP cannot see into the fabric's queues."""

from __future__ import annotations

from pathlib import Path

from anabranch.deploy.marking import nftables as marking
from anabranch.deploy.netlink.namespace import inside
from anabranch.lab.switches.ebpf import groups as datapaths
from anabranch.lab.switches.ebpf import host_ports
from anabranch.lab.switches.ebpf.switching import kernel_switches
from anabranch.lab.traffic.play import Endpoint
from anabranch.lab.traffic.queue_counters import QueueReader
from anabranch.lab.traffic.streams import Span, Stream, run
from support.lab_fixture import kernel_lab_of


def test_hosts_do_not_see_their_packets_in_the_network(tmp_path: Path) -> None:
    text = 'kind = "leaf-spine"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\n'
    text += 'link = { rate = "10 Mbps", buffer = "60 KB" }\nhost_link = { rate = "100 Mbps" }'
    dropped = []
    with kernel_lab_of(tmp_path, text) as lab:
        datapaths.install(lab)
        namespace, device = lab.blueprint.switch_namespace, lab.interface("leaf0", "spine0")
        ends = [Endpoint(host.namespace, host.address) for host in lab.hosts.values()]
        for host in lab.hosts.values():
            marking.single_segments(host.interface, enter=host.enter)
        for parted in (True, False):
            if not parted:
                with inside(namespace):
                    host_ports.join(kernel_switches(lab).folder(host_ports.NAME).parent)
            with QueueReader(namespace, [device]) as queues:
                before = queues.read()[device].dropped_packets
                run(ends, [Stream(0, 1, 1e9)], Span(1.0, 3.0))
                dropped.append(queues.read()[device].dropped_packets - before)
    # TCP small queues: a host that sees its packets in the switch's queue never fills it.
    assert dropped[0] > 0
    assert dropped[1] == 0
