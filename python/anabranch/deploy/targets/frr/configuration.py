"""FRR's configuration of one router, as `vtysh -f` takes it: eBGP without addresses on links (RFC 7938, RFC 8950)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anabranch.deploy.control.fabric import Network
from anabranch.deploy.targets.frr.bandwidth import PATHS_MAX
from anabranch.deploy.targets.frr.fabric import Routers

FAMILIES = {4: ("ipv4", "ip"), 6: ("ipv6", "ipv6")}
"""Words of FRR by IP version: of an address family, and of prefix lists."""


def configuration(router: str, routers: Routers) -> str:
    """The text for one router. FRR keeps what it does not name, so a router is given it with an empty configuration."""
    own = routers.networks.get(router, ())
    ends = routers.ends(router)
    lines = [
        "frr defaults datacenter",
        f"hostname {router}",
        "service integrated-vtysh-config",
        "! Groups lose paths when a link comes back where the kernel has zebra's nexthops (frr#15505).",
        "no zebra nexthop kernel enable",
        "!",
        *_route_maps(router, routers),
        f"router bgp {routers.system[router]}",
        f" bgp router-id {routers.router_id[router]}",
        " bgp bestpath as-path multipath-relax",
        " no bgp default ipv4-unicast",
        " no bgp network import-check",
        " bgp route-map delay-timer 1",
        " neighbor fabric peer-group",
        " neighbor fabric remote-as external",
        " neighbor fabric timers connect 1",
        *(f" neighbor {routers.device[end]} interface peer-group fabric" for end in ends),
    ]
    for version, (family, _) in FAMILIES.items():
        lines += [
            " !",
            f" address-family {family} unicast",
            *(f"  network {network}" for network in own if network.version == version),
            "  neighbor fabric activate",
            *(f"  neighbor {routers.device[end]} route-map {_map(routers.device[end])} out" for end in ends),
            f"  maximum-paths {PATHS_MAX}",
            " exit-address-family",
        ]
    return "".join(f"{line}\n" for line in [*lines, "exit", "!", "end"])


def _map(device: str) -> str:
    return f"to-{device}"


def _route_maps(router: str, routers: Routers) -> Iterator[str]:
    """Route maps with the prefix lists that they match: the bandwidth towards each leaf, by port."""
    for end, by_leaf in routers.announced(router).items():
        name = _map(routers.device[end])
        leaves: dict[int, list[str]] = {}
        for leaf, mbps in by_leaf.items():
            leaves.setdefault(mbps, []).append(leaf)
        sequence = 0
        for mbps, alike in sorted(leaves.items()):
            networks = [network for leaf in alike for network in routers.networks[leaf]]
            for version, (family, word) in FAMILIES.items():
                of_version = [network for network in networks if network.version == version]
                if not of_version:
                    continue
                listed = f"{name}-{mbps}-{family}"
                sequence += 10
                yield from _prefix_list(word, listed, of_version)
                yield f"route-map {name} {'permit' if mbps else 'deny'} {sequence}"
                yield f" match {word} address prefix-list {listed}"
                if mbps:
                    yield f" set extcommunity bandwidth {mbps}"
                yield from ("exit", "!")
        yield "! Longer paths, for when all of the shortest are gone."
        yield from (f"route-map {name} permit {sequence + 10}", "exit", "!")


def _prefix_list(word: str, name: str, networks: Sequence[Network]) -> Iterator[str]:
    for number, network in enumerate(networks, 1):
        yield f"{word} prefix-list {name} seq {5 * number} permit {network}"
    yield "!"
