"""What the kernel leaves of routes when a device loses its carrier, before and while a plan is written over them."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

from anabranch.deploy.netlink.nexthop import Hop, Nexthop, NexthopGroup, Route
from anabranch.deploy.targets.linux.observe import LinuxState
from anabranch.deploy.targets.linux.session.flushed import flushed, swept

ONE, OTHER = ip_network("10.1.0.0/24"), ip_network("10.1.1.0/24")
PROTOCOL, TABLE = 171, 254


def state(members: dict[int, tuple[int, ...]]) -> LinuxState:
    """Nexthops 1 and 2 by devices of their own, groups of these, and a route to each group."""
    hops = {number: Hop(4, f"link{number}", ip_address(f"10.9.{number}.1")) for number in (1, 2)}
    groups = {
        number: NexthopGroup(number, tuple((one, 1) for one in some), None, PROTOCOL)
        for number, some in members.items()
    }
    routes = [Route(prefix, TABLE, 0, group, PROTOCOL) for prefix, group in zip((ONE, OTHER), groups, strict=True)]
    return LinuxState(
        {number: Nexthop(number, hop, PROTOCOL) for number, hop in hops.items()},
        groups,
        {route.key: route for route in routes},
    )


def test_a_group_goes_with_its_last_path_and_takes_its_routes_along() -> None:
    left = flushed(state({11: (1,), 12: (1, 2)}), {"link1"})
    assert (set(left.nexthops), set(left.groups)) == ({2}, {12})
    assert left.groups[12].members == ((2, 1),)
    assert {prefix for prefix, _, _ in left.routes} == {OTHER}


def test_routes_go_although_their_group_is_written_anew_meanwhile() -> None:
    over = state({11: (1,), 12: (1, 2)})
    assert swept(over, {"link1"}) == {(ONE, TABLE, 0)}
    assert swept(over, set()) == set()
    # What was written instead has nothing more to lose.
    assert swept(state({11: (2,), 12: (2,)}), {"link1"}) == set()
