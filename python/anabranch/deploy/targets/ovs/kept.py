"""Splits of a bridge as a file keeps them, and the tables that the next ones go on from.

The bridge itself goes before the file, which has what a bridge without rules no longer has: recipe, seed and, under
`multipath`, whose each slot is. Ports are kept by name, for a bridge that is made anew numbers them anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from anabranch.deploy.openflow.action import Output
from anabranch.deploy.openflow.tables import FAST_FAILOVER, Bucket, Group, Tables
from anabranch.deploy.targets.ovs import slots
from anabranch.deploy.targets.ovs.ownership import Ownership
from anabranch.deploy.targets.ovs.recipes import SLOT_COUNTS
from anabranch.deploy.targets.ovs.split import RECIPES, SEED_MAX
from anabranch.deploy.targets.state_file import StateForm

PLANNED_GROUP = 1 << 32
"""Numbers of groups from here on are in no switch: of paths by which only the next tables are planned."""

Port = str | int
"""Name of a port, or its OpenFlow number where it has none."""


@dataclass(frozen=True)
class KeptSplit:
    """One split as it stood in a bridge."""

    recipe: str
    seed: int
    ports: tuple[Port, ...] = ()
    """The ports that slots are of."""
    owners: tuple[int, ...] = ()
    """Place in `ports` of each slot's owner; none but under `multipath`."""
    homes: tuple[int, ...] = ()
    """And of the port that each slot returns to."""


def kept(recipe: str, seed: int, owners: Sequence[slots.Owner], names: Mapping[int, str]) -> KeptSplit:
    """The split with owners by slot; `names` are those of ports by number, stand-ins of absent ones included."""
    numbers = sorted({number for owner in owners for number in owner})
    index = {number: place for place, number in enumerate(numbers)}
    return KeptSplit(
        recipe,
        seed,
        tuple(names.get(number, number) for number in numbers),
        tuple(index[owner] for owner, _ in owners),
        tuple(index[home] for _, home in owners),
    )


def complete(owners: Mapping[int, slots.Owner]) -> bool:
    """Whether there is an owner for each slot."""
    return len(owners) in SLOT_COUNTS and max(owners) < len(owners)


def names_of(ports: Mapping[str, int], known: Iterable[str]) -> dict[int, str]:
    """Names of ports by number, and by the stand-in for the number of a `known` one that a bridge does not have."""
    return {slots.stand_in(name): name for name in known} | {number: name for name, number in ports.items()}


def history(
    here: Mapping[int, slots.Owner], split: KeptSplit | None, ports: Mapping[str, int]
) -> dict[int, slots.Owner]:
    """Owners by slot that the next table goes on from: those of the bridge, else those of the file.

    Args:
        here: the bridge's.
        split: the file's.
        ports: numbers by name.

    """
    here = slots.at_home(here, ports)
    if split is None or complete(here):
        return here
    numbers = [ports.get(one, slots.stand_in(one)) if isinstance(one, str) else one for one in split.ports]
    places = zip(split.owners, split.homes, strict=True)
    return {slot: (numbers[owner], numbers[home]) for slot, (owner, home) in enumerate(places)} | here


def with_owners(present: Tables, owners: Mapping[int, Mapping[int, slots.Owner]], ownership: Ownership) -> Tables:
    """Tables with these owners by slot, by the number of the split's group, where slots of theirs have no rule."""
    table = ownership.inner_tables[0]
    here = slots.owners(present, table)
    flows, groups = set(present.flows), set(present.groups)
    for split, by_slot in owners.items():
        for slot, (owner, home) in by_slot.items():
            if slot not in here.get(split, {}):
                flows.add(slots.rule(table, ownership.cookie, split, slot, home, PLANNED_GROUP + owner))
                groups.add(Group(PLANNED_GROUP + owner, FAST_FAILOVER, (_path(owner),)))
    return Tables(frozenset(flows), frozenset(groups), present.meters)


def _path(number: int) -> Bucket:
    return Bucket(0, (Output(number),), 0, watch_port=number)


def _encode(split: KeptSplit) -> object:
    written: dict[str, object] = {"recipe": split.recipe, "seed": split.seed}
    if split.owners:
        written |= {"ports": split.ports, "owners": split.owners, "homes": split.homes}
    return written


def _decode(encoded: object) -> KeptSplit:
    if not isinstance(encoded, dict):
        raise TypeError
    ports, owners, homes = (tuple(encoded.get(key, ())) for key in ("ports", "owners", "homes"))
    split = KeptSplit(encoded["recipe"], encoded["seed"], ports, owners, homes)
    is_right = (
        split.recipe in RECIPES
        and _is_number(split.seed, SEED_MAX)
        and all(isinstance(port, str) or _is_number(port, slots.HOME) for port in ports)
        and all(_is_number(one, len(ports) - 1) for one in (*owners, *homes))
        and len(owners) == len(homes)
        and (len(owners) in SLOT_COUNTS if split.recipe == "multipath" else not owners)
    )
    if not is_right:
        raise ValueError
    return split


def _is_number(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


FORM = StateForm("a bridge", _encode, _decode)
"""Splits by the names of their groups: those of a plan, or the leaves of a fabric."""
