"""Rules in a bridge's tables for a split, and how few of them a new plan changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anabranch import AnabranchError, Splitter
from anabranch.deploy.openflow.action import ANY, Output, ToGroup
from anabranch.deploy.openflow.match import Match
from anabranch.deploy.openflow.modification import FlowMod, GroupMod, MeterMod
from anabranch.deploy.openflow.tables import FAST_FAILOVER, SELECT, Flow, Group, Meter, Tables
from anabranch.deploy.targets.ovs.change import TablesChange
from anabranch.deploy.targets.ovs.ownership import Ownership
from anabranch.deploy.targets.ovs.slots import Owner, rebalanced, repeated
from anabranch.deploy.targets.ovs.split import PATHS_MAX, RECIPES, SPLITS_MAX, Split, present_owners, render

WEIGHTS = st.lists(st.integers(0, 20), min_size=1, max_size=8).filter(any)
TERRITORY = Ownership(owner=7)


def tables(*splits: Split, present: Tables | None = None, ownership: Ownership = TERRITORY) -> Tables:
    """All that a plan of these splits needs, a rule per split included."""
    flows: set[Flow] = set()
    groups: set[Group] = set()
    for split in splits:
        rendered = render(split, ownership, present_owners(present or Tables(), ownership, split.index))
        match = Match.of(eth_type=0x0800, ip_dst=f"10.{split.index >> 8}.{split.index & 255}.0/24")
        flows |= {*rendered.flows, Flow(0, 100, match, rendered.actions, rendered.goto, ownership.cookie)}
        groups |= rendered.groups
    return Tables(frozenset(flows), frozenset(groups))


def owners(present: Tables, index: int, slots: int) -> list[Owner | None]:
    """Owners of the slots of a split."""
    return repeated(present_owners(present, TERRITORY, index), slots)


def applied(before: Tables, change: TablesChange) -> Tables:
    """The tables after the mods, one by one, as a switch takes them; nothing may lead to what is not there."""
    flows = {flow.key: flow for flow in before.flows}
    groups = {group.group_id: group for group in before.groups}
    meters = {meter.meter_id: meter for meter in before.meters}
    for mod in change.mods:
        match mod:
            case FlowMod(command="add", flow=flow):
                assert all(action.group_id in groups for action in flow.actions if isinstance(action, ToGroup))
                flows[flow.key] = flow
            case FlowMod(flow=flow):
                assert flows.pop(flow.key) == flow
            case GroupMod(command="delete", group=group):
                ways = [flow.actions for flow in flows.values()]
                ways += [bucket.actions for other in groups.values() for bucket in other.buckets]
                assert all(ToGroup(group.group_id) not in actions for actions in ways), "a switch would delete these"
                del groups[group.group_id]
            case GroupMod(command=command, group=group):
                assert (command == "modify") == (group.group_id in groups)
                assert all(
                    action.group_id in groups
                    for bucket in group.buckets
                    for action in bucket.actions
                    if isinstance(action, ToGroup)
                )
                groups[group.group_id] = group
            case MeterMod(command="delete", meter=meter):
                del meters[meter.meter_id]
            case MeterMod(command=command, meter=meter):
                assert (command == "modify") == (meter.meter_id in meters)
                meters[meter.meter_id] = meter
    return Tables(frozenset(flows.values()), frozenset(groups.values()), frozenset(meters.values()))


@pytest.mark.parametrize("recipe", RECIPES)
@given(weights=WEIGHTS)
def test_every_recipe_watches_its_ports_and_numbers_its_buckets_by_path(recipe: str, weights: list[int]) -> None:
    split = Split(5, tuple(weights), tuple(range(11, 11 + len(weights))), recipe, seed=9)
    rendered = render(split, TERRITORY)
    (main,) = (group for group in rendered.groups if group.group_id == TERRITORY.group_id(5))
    assert main.kind == (FAST_FAILOVER if recipe == "failover" else SELECT)
    assert all(TERRITORY.owns_group(group) for group in rendered.groups)
    assert all(TERRITORY.owns_flow(flow) for flow in rendered.flows)
    for bucket in main.buckets:
        (action,) = bucket.actions
        assert isinstance(action, Output)
        assert bucket.watch_port == action.port != ANY
        if bucket.bucket_id < len(weights):
            assert action.port == 11 + bucket.bucket_id
    carried = {bucket.watch_port - 11 for bucket in main.buckets}
    assert carried == {path for path, weight in enumerate(weights) if weight or recipe == "failover"}
    assert len({bucket.bucket_id for bucket in main.buckets}) == len(main.buckets)
    assert sum(split.shares()) == pytest.approx(1)


def test_weights_are_written_as_each_recipe_needs_them() -> None:
    def written(recipe: str) -> list[int]:
        (group,) = render(Split(0, ("4", 3), (1, 2), recipe), TERRITORY).groups
        return [bucket.weight for bucket in group.buckets]

    # Measured on a real switch: DATAPATH figures of 4:3.
    assert written("hash-gravity") == [65535, 56173]
    assert written("hash") == written("dp_hash") == written("default") == [4, 3]
    assert sum(written("dp_hash-twin")) == 256
    assert min(written("dp_hash-twin")) == 1


@pytest.mark.parametrize("recipe", ["dp_hash", "dp_hash-twin", "default"])
def test_gravity_weights_are_refused_where_nothing_is_scored(recipe: str) -> None:
    with pytest.raises(AnabranchError, match=r"gravity weights.* write the split that is wanted, 57\.14,42\.86"):
        render(Split(0, (65535, 56173), (1, 2), recipe), TERRITORY)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(AnabranchError, match="did you mean hash-gravity"):
        Split(0, (1, 1), (1, 2), "hash-gravty")
    with pytest.raises(AnabranchError, match="one is there twice"):
        Split(0, (1, 1), (1, 1))
    with pytest.raises(AnabranchError, match="spread them over owners"):
        Split(SPLITS_MAX, (1,), (1,))
    with pytest.raises(AnabranchError, match="use hash-gravity"):
        Split(0, (1,) * (PATHS_MAX + 1), tuple(range(PATHS_MAX + 1)), "multipath")
    with pytest.raises(AnabranchError):
        render(Split(0, (0, 0), (1, 2)), TERRITORY)


def test_numbers_of_groups_never_meet() -> None:
    ids: list[int] = []
    for index in (0, 1, 500, SPLITS_MAX - 1):
        split = Split(index, (1,) * PATHS_MAX, tuple(range(1, PATHS_MAX + 1)), "multipath")
        ids += [group.group_id for group in render(split, TERRITORY).groups]
    assert len(set(ids)) == len(ids) == 4 * (PATHS_MAX + 1)
    assert all(group_id >> 16 == 0xAB07 for group_id in ids)


@given(WEIGHTS, WEIGHTS)
def test_a_new_plan_moves_the_fewest_slots(before: list[int], after: list[int]) -> None:
    ports = tuple(range(1, 1 + max(len(before), len(after))))
    first, second = (Split(2, tuple(w) + (0,) * (len(ports) - len(w)), ports, "multipath") for w in (before, after))
    held = tables(first)
    changed = tables(second, present=held)
    had, got = (owners(state, 2, 256) for state in (held, changed))
    assert None not in had + got
    counts = [Counter(owner[0] for owner in state if owner) for state in (had, got)]
    assert [counts[1][port] for port in ports] == second.quotas
    least = sum(max(0, counts[0][port] - counts[1][port]) for port in ports)
    rules = [mod for mod in TablesChange.between(held, changed).mods if isinstance(mod, FlowMod)]
    assert len(rules) == sum(a[0] != b[0] for a, b in zip(had, got, strict=True) if a and b) == least
    # Planned once more over what is there now, nothing changes.
    assert not TablesChange.between(changed, tables(second, present=changed))


@given(WEIGHTS.filter(lambda weights: sum(w > 0 for w in weights) > 1), st.data())
def test_a_path_that_comes_back_gets_its_own_slots(weights: list[int], data: st.DataObject) -> None:
    ports = tuple(range(1, 1 + len(weights)))
    dead = data.draw(st.sampled_from([path for path, weight in enumerate(weights) if weight]))
    whole = Split(0, tuple(weights), ports, "multipath")
    less = replace(whole, weights=tuple(0 if path == dead else weight for path, weight in enumerate(weights)))
    if data.draw(st.booleans()):
        # The bridge does not even have the port.
        less = replace(less, ports=tuple(-1 if path == dead else port for path, port in enumerate(ports)))
    first = tables(whole)
    down = tables(less, present=first)
    back = tables(whole, present=down)

    def ports_of(state: Tables) -> list[int]:
        return [owner[0] for owner in owners(state, 0, 256) if owner]

    assert ports[dead] not in ports_of(down)
    assert ports_of(back) == ports_of(first)


def test_more_slots_leave_connections_where_they_are() -> None:
    few = Split(0, (1, 1), (1, 2), "multipath", slot_count=256)
    held = tables(few)
    more = owners(tables(replace(few, slot_count=1024), present=held), 0, 1024)
    assert more == owners(held, 0, 256) * 4


@given(
    st.lists(st.none() | st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=16, max_size=16),
    st.lists(st.integers(0, 16), min_size=1, max_size=4),
)
def test_any_slots_found_become_right(before: list[tuple[int, int] | None], cuts: list[int]) -> None:
    """Starts from any state of the switch: rules lost, ports gone, homes that never were."""
    ends = sorted([0, *cuts, 16])
    quotas = [b - a for a, b in pairwise(ends)]
    assume(any(quotas))
    ports = list(range(1, 1 + len(quotas)))
    after = rebalanced(before, ports, quotas)
    counts = Counter(port for port, _ in after)
    assert [counts[port] for port in ports] == quotas
    kept = Counter(owner[0] for owner in before if owner and owner[0] in ports)
    stayed = sum(owner is not None and owner[0] == port for owner, (port, _) in zip(before, after, strict=True))
    assert stayed == sum(min(kept[port], quota) for port, quota in zip(ports, quotas, strict=True))


def plans() -> st.SearchStrategy[Sequence[Split]]:
    split = st.builds(
        lambda index, weights, recipe, seed: Split(
            index, tuple(weights), tuple(range(1, 1 + len(weights))), recipe, seed
        ),
        st.integers(0, 5),
        WEIGHTS,
        st.sampled_from(RECIPES),
        st.integers(0, 3),
    )
    return st.lists(split, max_size=4, unique_by=lambda one: one.index)


@given(plans(), plans(), st.lists(st.integers(1, 9), max_size=3), st.lists(st.integers(1, 9), max_size=3))
def test_a_difference_is_right_at_every_step(
    before: Sequence[Split], after: Sequence[Split], old_rates: list[int], new_rates: list[int]
) -> None:
    def with_meters(state: Tables, rates: list[int]) -> Tables:
        meters = (Meter(TERRITORY.meter_id(number), rate, 20) for number, rate in enumerate(rates))
        return replace(state, meters=frozenset(meters))

    held = with_meters(tables(*before), old_rates)
    wanted = with_meters(tables(*after, present=held), new_rates)
    change = TablesChange.between(held, wanted)
    assert applied(held, change) == wanted
    assert bool(change) == (held != wanted)
    assert not TablesChange.between(wanted, wanted)
    assert bool(change.lines()) == bool(change)


def test_new_weights_write_one_group_and_nothing_else() -> None:
    held = tables(Split(0, (4, 3), (1, 2)), Split(1, (1, 1), (1, 2)))
    change = TablesChange.between(held, tables(Split(0, (4, 2), (1, 2)), Split(1, (1, 1), (1, 2))))
    (mod,) = change.mods
    assert isinstance(mod, GroupMod)
    assert (mod.command, mod.group.group_id) == ("modify", TERRITORY.group_id(0))
    assert change.lines({1: "uplink1"}) == [
        "~- group 0xab070000 select hash seed=0: 0:uplink1 weight=65535, 1:port 2 weight=56173",
        "~+ group 0xab070000 select hash seed=0: 0:uplink1 weight=65535, 1:port 2 weight=43690",
    ]
    assert Splitter("scoring", [65535, 43690]).shares() == pytest.approx([2 / 3, 1 / 3], abs=1e-4)
