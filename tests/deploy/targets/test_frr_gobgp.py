"""Target `frr` beside GoBGP: bandwidths of another implementation, over sessions between addresses."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from anabranch.deploy.netlink.namespace import inside
from anabranch.deploy.targets.frr.bandwidth import BYTES_PER_MBIT, predicted
from support.frr_routers import Router, routers, run
from support.waiting import wait

LEAF = """\
frr defaults datacenter
no zebra nexthop kernel enable
router bgp 65001
 bgp router-id 10.255.0.1
 bgp bestpath as-path multipath-relax
 neighbor 10.9.0.2 remote-as external
 neighbor 10.9.0.2 timers connect 1
 neighbor 10.9.1.2 remote-as external
 neighbor 10.9.1.2 timers connect 1
 address-family ipv4 unicast
  maximum-paths 8
"""
SPINE = """\
[global.config]
as = {system}
router-id = "10.255.1.{number}"
[global.apply-policy.config]
export-policy-list = ["bandwidth"]
default-export-policy = "accept-route"
[[neighbors]]
[neighbors.config]
neighbor-address = "10.9.{number}.1"
peer-as = 65001
[neighbors.transport.config]
passive-mode = true
[[policy-definitions]]
name = "bandwidth"
[[policy-definitions.statements]]
[policy-definitions.statements.actions]
route-disposition = "accept-route"
[policy-definitions.statements.actions.bgp-actions.set-ext-community]
options = "add"
[policy-definitions.statements.actions.bgp-actions.set-ext-community.set-ext-community-method]
communities-list = ["lb:{system}:{bytes_per_s}"]
"""
API_PORT = 50051
PREFIX = "10.7.0.0/24"
MBPS = (400, 300)
PLAN = f"""\
[[group]]
name = "behind"
match = {{ ip_dst = ["{PREFIX}"] }}
ports = ["spine0", "spine1"]
weights = {list(MBPS)}
"""


def announce(spine: Router, number: int, mbps: int) -> subprocess.Popen[bytes]:
    """Starts gobgpd on a spine, which announces the prefix with a bandwidth to the leaf."""
    system = 65010 + number
    file = spine.sockets / "gobgpd.toml"
    file.write_text(SPINE.format(system=system, number=number, bytes_per_s=mbps * BYTES_PER_MBIT))
    within = ("ip", "netns", "exec", spine.namespace)
    quiet = subprocess.DEVNULL
    daemon = subprocess.Popen([*within, "gobgpd", "-f", str(file)], stdout=quiet, stderr=quiet)
    wait(lambda: listens(spine), lambda: f"gobgpd on {spine.name}")
    run(*within, "gobgp", "global", "rib", "add", PREFIX, "nexthop", f"10.9.{number}.2")
    return daemon


def listens(spine: Router) -> bool:
    """Whether gobgpd takes commands; its own client would wait for seconds."""
    with inside(spine.namespace):
        try:
            socket.create_connection(("127.0.0.1", API_PORT)).close()
        except OSError:
            return False
    return True


def test_frr_makes_of_gobgps_bandwidths_what_is_predicted(tmp_path: Path) -> None:
    if not shutil.which("gobgpd"):
        pytest.skip("gobgpd is missing: apt install gobgpd")
    (tmp_path / "leaf.conf").write_text(LEAF)
    (tmp_path / "plan.toml").write_text(PLAN)
    spines = ("spine0", "spine1")
    with routers([("leaf", spine) for spine in spines], {}, bare=spines) as by_name:
        leaf = by_name["leaf"]
        for number, spine in enumerate(spines):
            leaf.ip("addr", "add", f"10.9.{number}.1/30", "dev", spine)
            by_name[spine].ip("addr", "add", f"10.9.{number}.2/30", "dev", "leaf")
        leaf.configure(tmp_path / "leaf.conf")
        daemons = []
        try:
            for number, (spine, mbps) in enumerate(zip(spines, MBPS, strict=True)):
                daemons.append(announce(by_name[spine], number, mbps))
            split = dict(zip(spines, predicted(MBPS), strict=True))
            assert split == {"spine0": 57, "spine1": 42}
            leaf.wait_for(PREFIX, split)
            same = leaf.compare("diff", tmp_path / "plan.toml")
            assert (same.returncode, same.stdout) == (0, "no difference in 1 destination\n")
        finally:
            for daemon in daemons:
                daemon.kill()
                daemon.wait()
