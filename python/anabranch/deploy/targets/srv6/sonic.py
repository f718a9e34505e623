"""Explicit paths for SONiC: what the CONFIG_DB of each switch has.

Tables and fields are those of sonic-net/sonic-buildimage: `sonic-srv6.yang` (SRV6_MY_LOCATORS, SRV6_MY_SIDS),
`sonic-static-route.yang` and `sonic-interface.yang`, all below `src/sonic-yang-models/yang-models`. Behaviours are
`uN` and `uDT46`, which bgpcfgd takes from there.
"""

from __future__ import annotations

from typing import Any

from anabranch.deploy.targets.srv6.addresses import BLOCK, Addresses, ends_of

LOCATOR = "explicit"
Tables = dict[str, dict[str, dict[str, Any]]]


def config_db(switch: str, addresses: Addresses) -> Tables:
    """Tables of a switch: locator, segments, addresses of its links, and static routes to its neighbours' segments."""
    topology = addresses.topology
    own = addresses.locator(switch)
    sids = {f"{LOCATOR}|{own}": {"action": "uN", "decap_dscp_mode": "pipe"}}
    interfaces: dict[str, dict[str, Any]] = {}
    routes: dict[str, dict[str, Any]] = {}
    for end in ends_of(topology, switch):
        port = addresses.ethernet(end)
        interfaces[port] = {}
        interfaces[f"{port}|{addresses.on_link(end)}/126"] = {}
        if topology.is_host(end.neighbour):
            decapsulation = f"{LOCATOR}|{addresses.decapsulation(switch)}"
            sids[decapsulation] = {"action": "uDT46", "decap_vrf": "default", "decap_dscp_mode": "pipe"}
            target = f"{addresses.host(end.neighbour)}/128"
        else:
            target = str(addresses.locator(end.neighbour))
        # Of parallel links the first; no path takes any.
        routes.setdefault(f"default|{target}", {"nexthop": str(addresses.across(end)), "ifname": port})
    locator = {
        "prefix": str(own.network_address),
        "block_len": str(BLOCK.prefixlen),
        "node_len": str(own.prefixlen - BLOCK.prefixlen),
        "func_len": "16",
        "arg_len": "0",
        "vrf": "default",
    }
    return {
        "INTERFACE": interfaces,
        "SRV6_MY_LOCATORS": {LOCATOR: locator},
        "SRV6_MY_SIDS": sids,
        "STATIC_ROUTE": routes,
    }
