"""The bandwidths and weights that a plan asks for, of the devices that are up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from anabranch.deploy.netlink.link_state import lives, unusable
from anabranch.deploy.netlink.nexthop import Prefix
from anabranch.deploy.targets.frr.bandwidth import installed, stored_bytes_per_s
from anabranch.deploy.targets.frr.observe import Observed
from anabranch.deploy.targets.frr.plan_file import AnnouncedPaths, RouterPlan
from anabranch.files.errors import AnabranchError
from anabranch.split.stats.mape import mape


@dataclass(frozen=True)
class Expected:
    """One group over its devices that are up."""

    planned: AnnouncedPaths
    bytes_per_s: Mapping[str, int]
    """Bandwidth of each device that is up, as bgpd keeps it."""

    @property
    def weights(self) -> dict[str, int]:
        """Weights that FRR makes of them."""
        return dict(zip(self.bytes_per_s, installed(list(self.bytes_per_s.values())), strict=True))


@dataclass(frozen=True)
class Desired:
    """Groups of a plan as a router should have them, with notes for the operator."""

    groups: tuple[Expected, ...]
    warnings: tuple[str, ...]


def desired(plan: RouterPlan, observed: Observed) -> Desired:
    """What FRR should make of a plan as its devices are.

    Raises:
        AnabranchError: the split of a group is further off its weights than the plan says it may be.

    """
    groups, warnings = [], []
    for one in plan.groups:
        if not any(one.mbps):
            continue
        asked = {port: mbps for port, mbps in zip(one.ports, one.mbps, strict=True) if mbps}
        error_pct = mape([mbps / sum(asked.values()) for mbps in asked.values()], list(one.installed.values()))
        if error_pct > one.error_pct:
            off = f"FRR's whole percents are {error_pct:.3g} % off these bandwidths (MAPE)"
            if one.error_given:
                hint = "allow a larger error, or announce others"
                raise AnabranchError(f"{plan.file}: group {one.name}: error: {one.error_pct:g}%: {off}; {hint}")
            warnings.append(f"group {one.name}: {off}, over {one.error_pct:g} %")
        up = {port: mbps for port, mbps in asked.items() if port in observed.devices and lives(observed.devices[port])}
        if len(up) < len(asked):
            down = {port: port for port in asked if port not in up}
            warnings.append(f"group {one.name}: {unusable(down, observed.devices)}")
        groups.append(Expected(one, {port: stored_bytes_per_s(mbps) for port, mbps in up.items()}))
        warnings += [f"group {one.name}: {note}" for prefix in one.prefixes for note in _lost(observed, prefix)]
    return Desired(tuple(groups), tuple(dict.fromkeys(warnings)))


def _lost(observed: Observed, prefix: Prefix) -> Iterator[str]:
    """Ways of a route through zebra by which FRR loses weights."""
    route = observed.zebra.get(prefix)
    for hop in route.hops if route is not None else ():
        if hop.is_recursive:
            yield f"{prefix}: next hop {hop.gateway} is recursive, where weights are lost (frr#16235, frr#22564)"
        if hop.vrf:
            yield f"{prefix}: next hop {hop.gateway} is in VRF {hop.vrf}, where weights are lost (frr#19161)"
