"""The desired state that brings back an observed one."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch._core import KernelGroup
from anabranch.deploy.targets.ebpf.datapath import DatapathState
from anabranch.deploy.targets.ebpf.desired import Desired
from anabranch.deploy.targets.ebpf.observe import Observed


@dataclass(frozen=True)
class Restored(Desired):
    """A datapath as it was observed, in plain values that another process can be given."""

    fields: tuple[tuple[object, ...], ...] = ()
    """Arguments of each of its groups."""

    @property
    def kernel_groups(self) -> list[KernelGroup]:
        """The groups that the datapath is given."""
        return [KernelGroup(*one) for one in self.fields]  # type: ignore[arg-type]


def scope(observed: Observed) -> str:
    """The datapath of the plan, in words."""
    return f"datapath {observed.folder}"


def restore(observed: Observed) -> Restored | None:
    """The datapath with its groups and devices as it is; None where there is none."""
    return None if observed.state is None else _restored(observed.state)


def _restored(state: DatapathState) -> Restored:
    groups = tuple(
        (
            one.name,
            one.prefixes,
            one.targets,
            one.weights,
            one.up,
            one.output,
            one.seed,
            one.pause_ns,
            one.turns,
            one.plain,
            [str(gateway) for gateway in one.gateways],
        )
        for one in state.groups
    )
    attached = tuple(sorted(state.attached))
    return Restored(state.scheme, state.group_capacity, state.route_capacity, (), attached, (), groups)
