"""Content of a bridge: flows, groups and meters as values that can be compared (OpenFlow 1.5.1 sections 5.2 to 5.7)."""

from __future__ import annotations

from dataclasses import dataclass, field

from anabranch.deploy.openflow.action import ANY, Action
from anabranch.deploy.openflow.match import FIELDS, Match


@dataclass(frozen=True)
class Flow:
    """A rule: packets that match have the actions applied, and go on to table `goto` if there is one."""

    table: int
    priority: int
    match: Match
    actions: tuple[Action, ...] = ()
    goto: int | None = None
    cookie: int = 0
    """Cookie, which says who installed the rule."""
    foreign: bytes = b""
    """Instructions without a name here, of another owner's rule, unchanged."""

    @property
    def key(self) -> tuple[int, int, Match]:
        """Fields by which a switch recognises a rule: adding one replaces the other."""
        return self.table, self.priority, self.match


SELECT, FAST_FAILOVER, ALL, INDIRECT = "select", "ff", "all", "indirect"


@dataclass(frozen=True)
class Bucket:
    """One exit of a group."""

    bucket_id: int
    actions: tuple[Action, ...]
    weight: int = 0
    """Weight in select groups, 16 bits; Open vSwitch never picks a bucket of weight 0. 0 in other groups."""
    watch_port: int = ANY
    """Port that the bucket depends on: it lives while the port does."""
    watch_group: int = ANY
    foreign: bytes = b""
    """Properties without a name here, of another owner's group, unchanged."""


@dataclass(frozen=True)
class Selection:
    """Rule by which a select group picks (Netronome's extension `ntr_selection_method`, `ovs-ofctl(8)`).

    The fields are a set: Open vSwitch hashes them in an order of its own. They are kept in the order of `match.FIELDS`.
    """

    method: str
    """Method: `hash` or `dp_hash`."""
    parameter: int = 0
    """Parameter of 64 bits: the seed of `hash`; algorithm (high half) and basis (low half) of `dp_hash`."""
    fields: tuple[str, ...] = ()
    """Names of `match.FIELDS` that `hash` reads whole."""
    foreign: bytes = b""
    """Fields of another owner's group that are masked or have no name here, unchanged."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(name for name in FIELDS if name in self.fields))


@dataclass(frozen=True)
class Group:
    """A group and its buckets, in the order in which the switch keeps them."""

    group_id: int
    kind: str
    buckets: tuple[Bucket, ...]
    selection: Selection | None = None
    foreign: bytes = b""
    """Properties without a name here, of another owner's group, unchanged."""


@dataclass(frozen=True)
class Meter:
    """A rate limit with one band that drops."""

    meter_id: int
    rate_kbps: int
    burst_kb: int
    """Burst in kilobits, as in OpenFlow. It is always given: Open vSwitch's default of one second is never used.
    """
    foreign: bytes = b""
    """Somebody else's meter that is not just that (of packets, without burst, with other bands): all that describes it,
    as it came; rate and burst are 0 then."""


@dataclass(frozen=True)
class Tables:
    """Everything of one owner in one bridge."""

    flows: frozenset[Flow] = field(default_factory=frozenset)
    groups: frozenset[Group] = field(default_factory=frozenset)
    meters: frozenset[Meter] = field(default_factory=frozenset)
