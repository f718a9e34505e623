"""Sec. 6 of the VALO paper: hash collisions, and how even the values are."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.split.hashes import HashQuality, compare
from anabranch.split.request import Request
from anabranch.split.trace import generate_trace

from .study import Study


@dataclass(frozen=True)
class OverTrace:
    """Every function of the study over the connections of one source."""

    source: str
    connections: int
    qualities: list[HashQuality]


def hash_quality(study: Study) -> list[OverTrace]:
    """Puts each source's connections through the functions."""
    asked = study.hashes
    request = Request(weights=tuple(map(str, asked.weights)), hash=study.hash, seed=0)
    results = []
    for source in study.sources:
        trace = generate_trace(source, asked.connections, hash=study.hash, seed=study.seed)
        qualities = [quality for quality in compare(request, trace).hashes if quality.name in asked.names]
        results.append(OverTrace(source, len(trace), qualities))
    return results
