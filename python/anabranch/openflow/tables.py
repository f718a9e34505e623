"""What a bridge holds: flows, groups and meters as values that can be compared (OpenFlow 1.5.1 sections 5.2 to 5.7)."""

from __future__ import annotations

from dataclasses import dataclass, field

from anabranch.openflow.action import ANY, Action
from anabranch.openflow.match import FIELDS, Match


@dataclass(frozen=True)
class Flow:
    """A rule: packets that match have the actions applied, and go on to table `goto` if there is one."""

    table: int
    priority: int
    match: Match
    actions: tuple[Action, ...] = ()
    goto: int | None = None
    cookie: int = 0
    """Who installed it; see `deploy.territory`."""
    foreign: bytes = b""
    """Instructions without a name here, of somebody else's rule, as they came."""

    @property
    def key(self) -> tuple[int, int, Match]:
        """What makes two rules the same rule: adding one replaces the other."""
        return self.table, self.priority, self.match


SELECT, FAST_FAILOVER, ALL, INDIRECT = "select", "ff", "all", "indirect"


@dataclass(frozen=True)
class Bucket:
    """One way out of a group."""

    bucket_id: int
    actions: tuple[Action, ...]
    weight: int = 0
    """Of select groups, 16 bits; Open vSwitch never picks a bucket of weight 0. Other groups keep none: 0."""
    watch_port: int = ANY
    """The bucket lives while this port does."""
    watch_group: int = ANY
    foreign: bytes = b""
    """Properties without a name here, of somebody else's group, as they came."""


@dataclass(frozen=True)
class Selection:
    """How a select group picks (Netronome's extension `ntr_selection_method`, `ovs-ofctl(8)`).

    The fields are a set: Open vSwitch hashes them in an order of its own. They are kept in the order of `match.FIELDS`.
    """

    method: str
    """`hash` or `dp_hash`."""
    parameter: int = 0
    """64 bits: the seed of `hash`; algorithm (high half) and basis (low half) of `dp_hash`."""
    fields: tuple[str, ...] = ()
    """Names of `match.FIELDS` that `hash` reads whole."""
    foreign: bytes = b""
    """Fields of somebody else's group that are masked or have no name here, as they came."""

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
    """Properties without a name here, of somebody else's group, as they came."""


@dataclass(frozen=True)
class Meter:
    """A rate limit with one band that drops."""

    meter_id: int
    rate_kbps: int
    burst_kb: int
    """Kilobits, as OpenFlow has it; Open vSwitch's own default of one second of traffic is never left to it."""
    foreign: bytes = b""
    """Somebody else's meter that is not just that (of packets, without burst, with other bands): all that describes it,
    as it came; rate and burst are 0 then."""


@dataclass(frozen=True)
class Tables:
    """Everything of somebody's in one bridge."""

    flows: frozenset[Flow] = field(default_factory=frozenset)
    groups: frozenset[Group] = field(default_factory=frozenset)
    meters: frozenset[Meter] = field(default_factory=frozenset)
