"""Which program of the kernel's datapath a load balancer runs as, or why it does not."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from anabranch.files.hints import nearest
from anabranch.simulate.load_balancers import KernelProgram, schemes

SHARED, INDEPENDENT = "shared", "independent"
"""Whether all packets of a group are counted together, on each processor by itself, or each flow's by itself."""
PLAIN = "scoring"
"""The scheme whose weights are factors of scores as they are."""

KERNEL_SCHEMES: Mapping[str, KernelProgram] = MappingProxyType(
    {balancer.name: balancer.runs.kernel for balancer in schemes() if balancer.runs.kernel is not None}
    | {"log-rendezvous": KernelProgram(("rendezvous",), "flow")}
)
"""Programs by the names of `anabranch schemes`, and the one of a technique that is no load balancer there."""
_VARIANTS = {balancer.name: balancer.runs.kernel_variant for balancer in schemes()}
COUNTED = tuple(name for name, variant in _VARIANTS.items() if variant is not None and variant[0] == "counter")
"""Load balancers whose `counter` chooses the program."""


def kernel_scheme(name: str, counter: str = SHARED) -> KernelProgram:
    """How a scheme runs in the kernel.

    Args:
        name: one of `KERNEL_SCHEMES`.
        counter: of `dbb`.

    """
    variant = _VARIANTS.get(name)
    return variant[2] if variant is not None and variant[:2] == ("counter", counter) else KERNEL_SCHEMES[name]


def pausing() -> list[str]:
    """Schemes that have a `pause`, as reference pages write them."""
    with_counter = f' with `counter = "{INDEPENDENT}"`'
    return [
        f"`{name}`{'' if program.pause_s else with_counter}"
        for name, program in KERNEL_SCHEMES.items()
        if kernel_scheme(name, INDEPENDENT).pause_s
    ]


def refusal(name: str) -> str:
    """The problem with a scheme that is not one of `KERNEL_SCHEMES`, and a hint."""
    known = {balancer.name: balancer for balancer in schemes()}
    if name not in known:
        return f"unknown; {nearest(name, KERNEL_SCHEMES)}"
    return f"{known[name].why_no_program}; there run {', '.join(KERNEL_SCHEMES)}"
