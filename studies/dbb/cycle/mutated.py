"""Dispatching cycles with a mechanism of their load balancer broken on purpose: the same fabrics, by one more key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from anabranch.reproduce.backends.backend import Announcement, Context, Evidence
from anabranch.simulate.load_balancers import Mutation, schemes

from .cycle_study import CycleStudy

BALANCE, MUTATION = "routing.balance", "routing.mutation"


@dataclass(frozen=True)
class MutatedCycle:
    """A study under each mutation that its schemes can have; see `backend.Mutated`."""

    study: CycleStudy
    announcement: Announcement | None = None

    @property
    def mutations(self) -> Mapping[str, str]:
        """What happens instead of each mechanism, by name."""
        return {one.name: one.broken for keys in self.study.settings.schemes.values() for one in _of(keys[BALANCE])}

    def run(self, context: Context, whole: Evidence) -> Iterator[tuple[str, Evidence]]:
        """Yields the evidence under each mutation; schemes that do not have it run as they are."""
        del whole
        settings = self.study.settings
        for name in self.mutations:
            broken = {
                scheme: {**keys, MUTATION: name} if any(one.name == name for one in _of(keys[BALANCE])) else keys
                for scheme, keys in settings.schemes.items()
            }
            yield name, replace(self.study, settings=replace(settings, schemes=broken)).run(context)


def _of(balancer: str) -> tuple[Mutation, ...]:
    """Mutations of a load balancer."""
    return next(one.mutations for one in schemes() if one.name == balancer)
