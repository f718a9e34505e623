"""A reboot: all processes, namespaces and devices end and begin again, and each connection takes its path as before."""

from __future__ import annotations

import json
import re
from pathlib import Path

from support.needs import declares
from support.systemd_machine import REPOSITORY, Machine, machine
from support.waiting import wait

DEVICES = """
for name in e1 e2 e3 x1 x2 x3 in; do
    ip link add $name type veth peer p$name
    echo 1 >/proc/sys/net/ipv6/conf/$name/disable_ipv6
    echo 1 >/proc/sys/net/ipv6/conf/p$name/disable_ipv6
    ip link set $name up
    ip link set p$name up
    ethtool -K p$name gro on
done
for number in 1 2 3; do
    ip addr add 10.9.$number.1/24 dev e$number
    ip neigh add 10.9.$number.2 lladdr 02:00:00:00:00:02 dev e$number
done
sysctl -q -w net.ipv4.fib_multipath_hash_policy=1 net.ipv4.fib_multipath_hash_seed=SEED
"""
"""What a machine's own services do before ours: devices, and /etc/sysctl.d."""
ROUTES = """\
[[group]]
name = "to-leaf2"
match = { ip_dst = "10.2.0.0/16" }
ports = ["e1", "e2", "e3"]
gateways = ["10.9.1.2", "10.9.2.2", "10.9.3.2"]
weights = [4, 3, 2]
"""
DATAPATH = """\
[switch]
dev = ["in"]
[[group]]
name = "to-leaf3"
match = { ip_dst = "10.3.0.0/16" }
ports = ["x1", "x2", "x3"]
weights = [4, 3, 2]
"""
BRIDGES = f"""
import sys
from pathlib import Path
sys.path.insert(0, "{REPOSITORY / "tests"}")
from support.dummy_fabric import DummyFabric
fabric = DummyFabric(Path(sys.argv[1]))
"""
BRIDGES_START = f"""{BRIDGES}
if (fabric.folder / "conf.db").exists():
    fabric.open_vswitch.start()
else:
    fabric.start()
    (fabric.folder / "fabric.toml").write_text(fabric.text())
"""
BRIDGES_PATHS = f"""{BRIDGES}
import json, re
given = "in_port=leaf0-host0,udp,nw_src=10.1.0.1,nw_dst=10.1.1.1,nw_ttl=64,udp_dst=4791,udp_src="
def path(port):
    traced = fabric.open_vswitch.appctl("ofproto/trace", "leaf0", given + str(port))
    return re.search("Datapath actions: (.*)", traced)[1]
print(json.dumps([path(port) for port in range(1000, 1200)]))
"""
DATAPATH_PATHS = f"""
import json, sys
sys.path.insert(0, "{REPOSITORY / "tests"}")
from support.own_datapaths import frame, frames
sent = [frame(port, "10.3.0.9") for port in range(1000, 1200)]
got = frames(sent, "pin", ["px1", "px2", "px3"])
left = {{one[34:36]: name for name, arrived in got.items() for one in arrived}}
print(json.dumps([left[one[34:36]] for one in sent]))
"""


def routed(booted: Machine) -> list[str]:
    """Device of each of 200 connections in the kernel's routes."""
    asked = [f"route get 10.2.0.9 ipproto udp sport {port} dport 4791" for port in range(1000, 1200)]
    file = booted.folder / "asked"
    file.write_text("\n".join(asked))
    return re.findall(r"^10\.2\.0\.9 via \S+ dev (\S+)", booted.run("ip", "-batch", str(file)), re.M)


def paths(booted: Machine, bridges: Path) -> dict[str, list[str]]:
    """Path of each of 200 connections in each target."""
    return {
        "linux": routed(booted),
        "ebpf": json.loads(booted.python(DATAPATH_PATHS)),
        "ovs": json.loads(booted.python(BRIDGES_PATHS, str(bridges))),
    }


@declares("root", "bpf", "ovs")
def test_no_connection_moves(tmp_path: Path) -> None:
    bridges = Path("/var/lib/bridges")
    for name, text in (("routes", ROUTES), ("datapath", DATAPATH)):
        (tmp_path / f"{name}.toml").write_text(text)
    with machine(tmp_path, DEVICES.replace("SEED", "7")) as booted:
        booted.run("mkdir", str(bridges))
        booted.python(BRIDGES_START, str(bridges))
        units = [
            booted.installed("apply", str(tmp_path / "routes.toml"), "--target", "linux", "--follow"),
            booted.installed("apply", str(tmp_path / "datapath.toml"), "--target", "ebpf", "--follow"),
            booted.installed("control", str(bridges / "fabric.toml")),
        ]
        for unit in units:
            booted.enabled(unit)

        def is_planned() -> bool:
            return booted.log(units[2]).count('"event": "committed", "switch": "leaf0"') == boots

        boots = 1
        wait(is_planned, lambda: booted.log(units[2]))
        before = paths(booted, bridges)
        assert {target: len(taken) for target, taken in before.items()} == dict.fromkeys(before, 200)
        assert {target: len(set(taken)) for target, taken in before.items()} == {"linux": 3, "ebpf": 3, "ovs": 2}
        booted.off()
        booted.boot()
        # Nobody starts ours but systemd; what the switches' own package does is done here.
        booted.python(BRIDGES_START, str(bridges))
        boots = 2
        wait(
            lambda: all(booted.show(unit, "ActiveState") == "active" for unit in units),
            lambda: "\n".join(map(booted.log, units)),
        )
        wait(is_planned, lambda: booted.log(units[2]))
        assert paths(booted, bridges) == before
