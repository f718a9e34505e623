"""A weighted group of a bridge, and what must stand in the bridge's tables for it, recipe by recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from anabranch import _core
from anabranch.deploy.openflow.action import Action, Multipath, Output, SetField, ToGroup
from anabranch.deploy.openflow.tables import FAST_FAILOVER, SELECT, Bucket, Flow, Group, Selection, Tables
from anabranch.deploy.targets.ovs import recipes as open_vswitch
from anabranch.deploy.targets.ovs import slots
from anabranch.deploy.targets.ovs.ownership import GROUPS_PER_OWNER, Ownership
from anabranch.deploy.targets.ovs.recipes import SLOT_COUNTS, WEIGHT_MAX
from anabranch.deploy.targets.plan.group import Group as Paths
from anabranch.deploy.targets.plan.group import exact, group, within
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import choose
from anabranch.split.splitter import Splitter, weight_texts
from anabranch.split.stats.mape import mape

RECIPES = ("hash-gravity", "dp_hash-twin", "multipath", "failover", "hash", "dp_hash", "default")
"""`default` is a group without a selection method, as Open vSwitch has it by itself."""
SEED_MAX = 2**64 - 1
SPLITS_MAX = 1024
"""Splits of an owner at most; the group numbers above are those of the paths under `multipath`."""
PATHS_MAX = GROUPS_PER_OWNER // SPLITS_MAX - 1
"""Under `multipath`, so that every path of every split has a group number."""
FIELDS = tuple(open_vswitch.FIELDS.replace("nw_proto", "ip_proto").split(","))
"""Fields of a packet that are hashed, in Open vSwitch's order."""
ALGORITHM = "symmetric_l3l4+udp"


@dataclass(frozen=True)
class Split:
    """One weighted group of a bridge. A path is its number, from 0; a path of weight 0 carries nothing."""

    index: int
    """Number of the group among its owner's."""
    weights: tuple[str | int, ...]
    ports: tuple[int, ...]
    """OpenFlow port numbers, one per weight; under `failover` in order of preference, whatever the weights.

    Those of ports that the bridge does not have are below 0.
    """
    recipe: str = "hash-gravity"
    seed: int = 0
    """`selection_method_param`, its low 16 bits the basis of `multipath`: another one on each switch."""
    slot_count: int = SLOT_COUNTS[0]
    """Slots of `multipath`."""

    def __post_init__(self) -> None:
        choose(self.recipe, RECIPES, "recipe")
        if not 0 <= self.index < SPLITS_MAX:
            raise AnabranchError(f"groups: {self.index + 1}: an owner has {SPLITS_MAX}; spread them over owners")
        if not 0 <= self.seed <= SEED_MAX:
            raise AnabranchError(f"seed: {self.seed}: not 64 bits; give a whole number from 0 to {SEED_MAX}")
        if self.slot_count not in SLOT_COUNTS:
            raise AnabranchError(f"slots: {self.slot_count}: give a power of two from {min(SLOT_COUNTS)} to 65536")
        if len(self.ports) != len(self.weights):
            raise AnabranchError(f"ports: {len(self.ports)} for {len(self.weights)} weights; give each path one")
        if len(set(self.ports)) < len(self.ports):
            raise AnabranchError(f"ports: {', '.join(map(str, self.ports))}: one is there twice; add its weights up")
        if self.recipe == "multipath" and len(self.ports) > PATHS_MAX:
            raise AnabranchError(f"multipath: {len(self.ports)} paths: at most {PATHS_MAX}; use hash-gravity")

    @property
    def paths(self) -> Paths:
        """Weights and ports, checked.

        Raises:
            AnabranchError: what is no weight, or none above 0.

        """
        weights = ["1"] * len(self.ports) if self.recipe == "failover" else weight_texts(self.weights)
        return group(weights, ports=",".join(map(str, self.ports)))

    @property
    def quotas(self) -> list[int]:
        """Slots of each path under `multipath`."""
        return _core.webster_slots(list(self.paths.weights), [True] * len(self.ports), self.slot_count)

    @property
    def error_pct(self) -> float:
        """Mean absolute error of the shares while all ports are up (VALO Eq. 1)."""
        return _error_pct(self._alike)

    @property
    def _alike(self) -> Split:
        """One that has the same shares, whatever its number, ports and seed."""
        return replace(self, index=0, ports=tuple(range(len(self.ports))), seed=0)

    def shares(self, up: Sequence[bool] | None = None) -> list[float]:
        """The share that each path really gets under a perfect hash while the ports are as in `up`; these sum to 1.

        Raises:
            AnabranchError: weights that the recipe cannot carry, or no path with a weight that is up.

        """
        if self.recipe == "failover":
            living = [port >= 0 for port in self.ports] if up is None else list(up)
            chosen = next((path for path, alive in enumerate(living) if alive), None)
            if chosen is None:
                raise AnabranchError("ports: all are down; bring one up")
            return [float(path == chosen) for path in range(len(living))]
        # Exact volumes cost milliseconds, and in a fabric many groups have the same weights.
        living = [True] * len(self.ports) if up is None else list(up)
        return list(_shares(self._alike, tuple(living)))


@lru_cache(maxsize=1 << 12)
def _error_pct(split: Split) -> float:
    return mape(split.paths.asked, split.shares())


@lru_cache(maxsize=1 << 12)
def _shares(split: Split, up: tuple[bool, ...]) -> tuple[float, ...]:
    paths, switch = replace(split.paths, up=up), open_vswitch.Switch()
    if split.recipe in ("dp_hash-twin", "dp_hash", "default"):
        build = open_vswitch.twin if split.recipe == "dp_hash-twin" else open_vswitch.as_written
        return tuple(build(paths, switch).achieved)
    if split.recipe == "hash":
        return tuple(open_vswitch.scored(paths, switch).achieved)
    scored = exact(paths.splitter("valo", precision="ovs", on_failure="stale")) if _by_score(split, up) else paths.asked
    if split.recipe == "hash-gravity":
        return tuple(scored)
    slots_of = [quota if alive else 0 for quota, alive in zip(split.quotas, up, strict=True)]
    dead = split.slot_count - sum(slots_of)
    return tuple((own + dead * share) / split.slot_count for own, share in zip(slots_of, scored, strict=True))


def _by_score(split: Split, up: Sequence[bool]) -> bool:
    """Whether any connection of a gravity group or its slots is scored."""
    return split.recipe == "hash-gravity" or not all(up)


@dataclass(frozen=True)
class Rendered:
    """A split in the tables."""

    actions: tuple[Action, ...]
    """Actions of a rule that sends packets into the split."""
    goto: int | None
    """And the table that it sends them on to."""
    groups: frozenset[Group]
    flows: frozenset[Flow]
    """Rules that must exist for it."""


def render(split: Split, ownership: Ownership, before: Mapping[int, slots.Owner] | None = None) -> Rendered:
    """Rules and groups for a split; `multipath` moves as few slots as it can of those `before`, owners by slot.

    Raises:
        AnabranchError: weights that the recipe cannot carry, or that are gravity weights under dp_hash.

    """
    group_id = ownership.group_id(split.index)
    if split.recipe == "failover":
        buckets = tuple(_bucket(path, port) for path, port in enumerate(split.ports) if port >= 0)
        group = Group(group_id, FAST_FAILOVER, buckets)
    else:
        group = Group(group_id, SELECT, _weighted(split), _selection(split))
    if split.recipe == "multipath":
        return _slotted(split, ownership, group, before or {})
    return Rendered((ToGroup(group_id),), None, frozenset({group}), frozenset())


def present_owners(present: Tables, ownership: Ownership, index: int) -> dict[int, slots.Owner]:
    """Owners by slot of the split `index` as it stands in tables: the `before` of its next `render`."""
    return slots.owners(present, ownership.inner_tables[0]).get(ownership.group_id(index), {})


def path_group(split: Split, ownership: Ownership, path: int) -> int:
    """Number of the group of one path under `multipath`: its bucket 0 is the path, bucket 1 what its death leaves."""
    return ownership.group_id(SPLITS_MAX + split.index * PATHS_MAX + path)


def _slotted(split: Split, ownership: Ownership, spread: Group, before: Mapping[int, slots.Owner]) -> Rendered:
    """A rule per slot to the group of its path; if the path is dead, on to `spread`, which scores the living ones."""
    by_port, groups = {}, {spread}
    for path, port in enumerate(split.ports):
        if port < 0:
            continue
        by_port[port] = path_group(split, ownership, path)
        rest = Bucket(1, (ToGroup(spread.group_id),), watch_group=spread.group_id)
        groups.add(Group(by_port[port], FAST_FAILOVER, (_bucket(0, port), rest)))
    table = ownership.inner_tables[0]
    now = slots.rebalanced(slots.repeated(before, split.slot_count), split.ports, split.quotas)
    flows = {
        slots.rule(table, ownership.cookie, spread.group_id, slot, home, by_port[port])
        for slot, (port, home) in enumerate(now)
    }
    hashed = Multipath(ALGORITHM, split.seed & 0xFFFF, split.slot_count, slots.SLOT)
    return Rendered((hashed, SetField(slots.SPLIT, spread.group_id)), table, frozenset(groups), frozenset(flows))


def _weighted(split: Split) -> tuple[Bucket, ...]:
    """A bucket per path that carries something, with the path's number; a twin has the number after the last path."""
    paths = split.paths
    if split.recipe in ("dp_hash-twin", "dp_hash", "default"):
        _refuse_gravity(paths, split.recipe)
    if split.recipe == "dp_hash-twin":
        weights = open_vswitch.twin_weights(paths.weights, paths.up, open_vswitch.Switch().max_slots)
    elif split.recipe in ("hash-gravity", "multipath"):
        weights = list(enumerate(_core.gravity_weights(list(paths.weights), WEIGHT_MAX)))
    else:
        weights = list(enumerate(within(paths, WEIGHT_MAX, "OpenFlow")))
    seen: set[int] = set()
    buckets = []
    for path, weight in weights:
        if weight:
            buckets.append(_bucket(len(split.ports) if path in seen else path, split.ports[path], weight))
            seen.add(path)
    return tuple(buckets)


def _refuse_gravity(paths: Paths, recipe: str) -> None:
    """The largest gravity weight is all of 16 bits; under dp_hash such weights are off by hundreds of percent."""
    written = paths.integers
    if max(written) == WEIGHT_MAX and len(set(written)) > 1:
        meant = ",".join(f"{100 * share:.4g}" for share in exact(Splitter("scoring", written)))
        raise AnabranchError(
            f"weights: {','.join(map(str, written))}: gravity weights, which {recipe} does not score by; "
            f"write the split that is wanted, {meant}"
        )


def _bucket(bucket_id: int, port: int, weight: int = 0) -> Bucket:
    return Bucket(bucket_id, (Output(port),), weight, watch_port=port)


def _selection(split: Split) -> Selection | None:
    if split.recipe == "default":
        return None
    if split.recipe.startswith("dp_hash"):
        # Algorithm 0, in the high half, hashes UDP ports too; the low half is the basis.
        return Selection("dp_hash", split.seed & 0xFFFFFFFF)
    return Selection("hash", split.seed, FIELDS)
