"""The group of a plan that takes a destination: that with the longest prefix."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Protocol, TypeVar

import numpy as np

from anabranch.deploy.targets.plan.group_keys import Network


class Routed(Protocol):
    """A group that takes packets by their destination."""

    @property
    def prefixes(self) -> tuple[Network, ...]:
        """Destinations; none for all."""
        ...


GroupT = TypeVar("GroupT", bound=Routed)


def takers(groups: Iterable[GroupT], row: np.void) -> list[GroupT]:
    """Groups whose prefix has a connection's destination and is the longest; one of all destinations comes last."""
    address = ipaddress.ip_address(row["destination"][: 16 if row["version"] == 6 else 4].tobytes())
    by_path: dict[int, list[GroupT]] = {}
    for one in groups:
        lengths = [prefix.prefixlen for prefix in one.prefixes if address in prefix]
        if lengths or not one.prefixes:
            by_path.setdefault(max(lengths, default=0), []).append(one)
    return by_path[max(by_path)] if by_path else []
