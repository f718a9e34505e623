"""Traffic of a request: reads its trace, or runs its generator."""

from __future__ import annotations

from anabranch.files.errors import AnabranchError
from anabranch.split.request import Request
from anabranch.split.splitter import Splitter
from anabranch.split.trace import Progress, Trace, generate_trace, read_trace


def traffic(request: Request, online: list[Splitter], progress: Progress | None) -> Trace:
    """Passes once over the traffic and shows each packet to the splitters `online`; a damaged capture ends the pass."""
    if request.generate is None:
        assert request.trace is not None
        return read_trace(
            request.trace,
            encapsulation=request.encapsulation,
            direction=request.direction,
            hash=request.hash,
            seed=request.seed,
            online=online,
            progress=progress,
            partial=True,
        )
    kind, _, count = request.generate.partition(":")
    if not count.isdecimal():
        raise AnabranchError(f"generate: {request.generate}: no number of connections; write {kind}:40000")
    return generate_trace(
        kind,
        int(count),
        direction=request.direction,
        hash=request.hash,
        seed=request.seed,
        online=online,
        progress=progress,
    )
