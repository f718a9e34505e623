"""List of load balancers that scenarios can name under `routing.balance`, and other systems in which each runs."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch import _core

LACKED = {
    "backlog": "how much waits at each queue",
    "timer": "a timer of its own",
    "probes": "probes that travel the fabric and come back",
    "feedback": "news of what became of packets sent earlier",
}
"""Capabilities that a program in the kernel's datapath is not given, in words for people."""


@dataclass(frozen=True)
class Parameter:
    """A key of one load balancer, below `routing` or `transport`."""

    key: str
    wants: str
    default: str
    meaning: str


@dataclass(frozen=True)
class Mutation:
    """A mechanism of a load balancer that `routing.mutation` breaks on purpose."""

    name: str
    broken: str
    """What happens instead, in a sentence."""


@dataclass(frozen=True)
class KernelProgram:
    """How the target `ebpf` runs a load balancer."""

    programs: tuple[str, ...]
    """Names of `_core.KERNEL_SCHEMES`; of several, the first whose split is near enough."""
    unit: str
    """Unit that chooses by itself: `flow`, `flowlet`, `flowcell`, `packet` (at random) or `turn`."""
    weighted: bool = True
    pause_s: float | None = None
    """Default of `pause`; None where a pause means nothing."""
    output: str = ""
    """The only output that the program has; empty if it has them all."""


@dataclass(frozen=True)
class Runs:
    """Implementations of a load balancer outside the simulator."""

    technique: str | None
    """Technique of the library that makes the same choice."""
    open_vswitch: str | None
    """Recipe of Open vSwitch's groups that makes the same choice."""
    linux: bool
    """Whether Linux' next-hop groups make the same choice."""
    kernel: KernelProgram | None
    """Program of the target `ebpf`."""
    kernel_variant: tuple[str, str, KernelProgram] | None
    """Program for another value of a parameter: key, value, program."""


@dataclass(frozen=True)
class LoadBalancer:
    """One load balancer. `needs` names the capabilities that its environment must give."""

    setting: str
    """Key of a scenario that names it: `routing.balance`, or `transport.kind`."""
    name: str
    granularity: str
    decided_by: str
    needs: tuple[str, ...]
    fits_kernel: bool
    """Whether the kernel's datapath gives a program everything it needs."""
    page: str
    parameters: tuple[Parameter, ...]
    runs: Runs
    reads_elsewhere: tuple[str, str] | None
    """State of others that it reads, so that it cannot run in parts: whose (`rack` or `fabric`), and which."""
    mutations: tuple[Mutation, ...]

    @property
    def published(self) -> str:
        """Publication and year, in two words: the parentheses in the page's title."""
        title = self.page.split("\n", 1)[0]
        return title.rpartition("(")[2].rstrip(")")

    @property
    def summary(self) -> str:
        """Description in a line."""
        paragraphs = [part.strip() for part in self.page.split("\n\n")]
        return " ".join(paragraphs[1].split()) if len(paragraphs) > 1 else ""

    @property
    def source(self) -> str:
        """Publication."""
        _, _, source = self.page.partition("## Source")
        return " ".join(source.split())

    @property
    def programs(self) -> tuple[str, ...]:
        """Programs in the kernel's datapath that it runs as, with those of a variant."""
        variant = self.runs.kernel_variant
        kernel = () if self.runs.kernel is None else self.runs.kernel.programs
        return kernel if variant is None else (*kernel, *variant[2].programs)

    @property
    def why_no_program(self) -> str:
        """Reason why it does not run in the kernel's datapath; empty if it does."""
        if self.programs:
            return ""
        lacking = [need for need in self.needs if need not in _core.KERNEL_GIVES]
        if lacking:
            words = " and ".join(f"{need} ({LACKED[need]})" for need in lacking)
            return f"it needs {words}, which a program in the kernel's datapath is not given"
        if not self.fits_kernel:
            return "it is decided beforehand, by who knows all traffic to come"
        return "all it needs is there, but no program of it has been written"

    @property
    def runs_in(self) -> tuple[str, ...]:
        """Names of the environments it runs in, the target `ebpf` excepted."""
        also = {
            "library": self.runs.technique is not None,
            "Open vSwitch": self.runs.open_vswitch is not None,
            "Linux next hops": self.runs.linux,
        }
        return ("simulator", *(name for name, runs in also.items() if runs))


def _program(row: _core.KernelRow) -> KernelProgram:
    programs, unit, weighted, pause_ns, output = row
    return KernelProgram(tuple(programs), unit, weighted, None if pause_ns is None else pause_ns / 1e9, output)


def _runs(row: _core.RunsRow) -> Runs:
    technique, open_vswitch, linux, kernel, variant = row
    return Runs(
        technique,
        open_vswitch,
        linux,
        None if kernel is None else _program(kernel),
        None if variant is None else (variant[0], variant[1], _program(variant[2])),
    )


def schemes() -> list[LoadBalancer]:
    """All load balancers of the simulator, in the order in which tables show them."""
    return [
        LoadBalancer(
            key,
            name,
            granularity,
            decider,
            tuple(needs),
            kernel,
            page,
            tuple(Parameter(*p) for p in own),
            _runs(runs),
            elsewhere,
            tuple(Mutation(*one) for one in mutations),
        )
        for key, name, granularity, decider, needs, kernel, page, own, runs, elsewhere, mutations in _core.schemes()
    ]
