"""Rules, groups and meters of others in the same bridge: never harmed, and reported where they come first."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.deploy.openflow.modification import FlowMod, GroupMod, MeterMod, Mod
from anabranch.deploy.openflow.reference import groups_of_flow, groups_of_group, meters_of_flow, meters_of_group
from anabranch.deploy.openflow.tables import Flow
from anabranch.deploy.targets.ovs import listing
from anabranch.deploy.targets.ovs.desired import Desired, meeting
from anabranch.deploy.targets.ovs.observe import Observed
from anabranch.files.errors import AnabranchError
from anabranch.split.stats.mape import mape

TAKE_ANOTHER = "give the group another priority"


def refuse_harm(mods: Sequence[Mod], observed: Observed) -> None:
    """Refuses to take away something of the operator's: a rule's place, or a group or meter that is in use."""
    theirs = [flow for flow in observed.flows if flow not in observed.own.flows]
    by_key = {flow.key: flow for flow in theirs}
    groups = {mod.group.group_id for mod in mods if isinstance(mod, GroupMod) and mod.command == "delete"}
    meters = {mod.meter.meter_id for mod in mods if isinstance(mod, MeterMod) and mod.command == "delete"}
    for mod in mods:
        if isinstance(mod, FlowMod) and mod.command == "add" and mod.flow.key in by_key:
            text = listing.flow(by_key[mod.flow.key], observed.names)
            raise AnabranchError(f"{text}: somebody else's, cookie 0x{by_key[mod.flow.key].cookie:x}; {TAKE_ANOTHER}")
    users = [(listing.flow(flow, observed.names), groups_of_flow(flow), meters_of_flow(flow)) for flow in theirs]
    users += [
        (listing.group(group, observed.names), groups_of_group(group), meters_of_group(group))
        for group in observed.groups
        if group not in observed.own.groups
    ]
    for text, used_groups, used_meters in users:
        for what in (
            *(f"group 0x{group_id:x}" for group_id in sorted(used_groups & groups)),
            *(f"meter {meter_id}" for meter_id in sorted(used_meters & meters)),
        ):
            raise AnabranchError(f"{what}: in use by somebody else's {text}; take that away first")


def warnings(desired: Desired, observed: Observed) -> list[str]:
    """Notes for the operator on a plan that can be applied."""
    sentences = []
    for group in desired.groups:
        asked, got = group.split.paths.asked, group.split.shares()
        error = 0.0 if group.split.recipe == "failover" else mape(asked, got)
        if error > group.planned.error_pct:
            shares = ", ".join(f"{100 * share:.1f}" for share in got)
            sentences.append(
                f"group {group.planned.name}: {group.split.recipe} makes {shares} % of these weights, "
                f"{error:.3g} % off (MAPE); anabranch plan shows what is nearer"
            )
        present = [port for port in group.split.ports if port >= 0]
        dead = [observed.names.get(port, str(port)) for port in present if not observed.up.get(port, False)]
        if dead:
            sentences.append(f"group {group.planned.name}: down: {', '.join(dead)}")
    theirs = [flow for flow in observed.flows if flow not in observed.own.flows]
    of = {flow: group.planned.name for group in desired.groups for flow in group.flows}
    first: dict[str, set[Flow]] = {}
    for flow, other in meeting(of, theirs):
        if other.priority >= flow.priority:
            first.setdefault(of[flow], set()).add(other)
    for name, others in sorted(first.items()):
        first_of = max(others, key=lambda flow: (flow.priority, listing.match(flow.match, {})))
        text = listing.flow(first_of, observed.names)
        sentences.append(f"group {name}: somebody else's {text} takes packets of it first")
    return sentences
