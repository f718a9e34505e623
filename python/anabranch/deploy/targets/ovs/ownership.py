"""Ownership in a bridge: one plan's own cookies, tables, groups and meters. All else is the operator's.

Flows carry a cookie; groups and meters have none, so their numbers say whose they are. Several plans live in one bridge
side by side under different owners, each with its tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anabranch.deploy.openflow.tables import Flow, Group, Meter, Tables
from anabranch.files.errors import AnabranchError

COOKIE = 0xAB5A << 48
COOKIE_MASK = 0xFFFFFF << 40
"""The mark and the owner; the 40 bits below number a plan's rules as it likes."""
GROUP = 0xAB00_0000
METER = 0x1_0000
"""Open vSwitch has 2^18 meters; an owner has 256 of them from here on."""
OWNERS, GROUPS_PER_OWNER, METERS_PER_OWNER = 256, 1 << 16, 256
TABLES = 254
"""Tables 0 to 253; Open vSwitch keeps 254 to itself."""


@dataclass(frozen=True)
class Ownership:
    """One owner's part of a bridge."""

    owner: int = 0
    """0 to 255."""
    table: int = 0
    """Table where packets come in."""
    inner_tables: tuple[int, ...] = (200, 201, 202, 203)
    """Tables that packets may be sent on to: slots of `multipath`, slices."""

    def __post_init__(self) -> None:
        if not 0 <= self.owner < OWNERS:
            raise AnabranchError(f"owner: {self.owner}: not 0 to {OWNERS - 1}; take a smaller number")
        for table in (self.table, *self.inner_tables):
            if not 0 <= table < TABLES:
                raise AnabranchError(f"table: {table}: not 0 to {TABLES - 1}; take another")
        if any(table <= self.table for table in self.inner_tables):
            raise AnabranchError(f"table: {self.table}: packets go on to higher tables only; take one below 200")

    @property
    def cookie(self) -> int:
        """The cookie of a rule with nothing further to say."""
        return COOKIE | self.owner << 40

    def group_id(self, index: int) -> int:
        """Number of this owner's group `index`.

        Raises:
            AnabranchError: more groups than an owner has.

        """
        if not 0 <= index < GROUPS_PER_OWNER:
            raise AnabranchError(f"groups: {index + 1}: an owner has {GROUPS_PER_OWNER}; spread them over owners")
        return GROUP | self.owner << 16 | index

    def meter_id(self, index: int) -> int:
        """Number of this owner's meter `index`.

        Raises:
            AnabranchError: more meters than an owner has.

        """
        if not 0 <= index < METERS_PER_OWNER:
            raise AnabranchError(f"meters: {index + 1}: an owner has {METERS_PER_OWNER}; cut fewer slices")
        return METER + self.owner * METERS_PER_OWNER + index

    def owns_flow(self, flow: Flow) -> bool:
        """Whether a rule is this owner's."""
        return flow.cookie & COOKIE_MASK == self.cookie

    def owns_group(self, group: Group) -> bool:
        """Whether a group is this owner's."""
        return group.group_id & ~(GROUPS_PER_OWNER - 1) == self.group_id(0)

    def owns_meter(self, meter: Meter) -> bool:
        """Whether a meter is this owner's."""
        return 0 <= meter.meter_id - self.meter_id(0) < METERS_PER_OWNER

    def own(self, flows: Sequence[Flow], groups: Sequence[Group], meters: Sequence[Meter]) -> Tables:
        """The part of what a bridge holds that is this owner's."""
        return Tables(
            frozenset(filter(self.owns_flow, flows)),
            frozenset(filter(self.owns_group, groups)),
            frozenset(filter(self.owns_meter, meters)),
        )
