"""Flow lists of ns-3's RDMA simulators.

The first line has the number of flows, each other line `src dst pg size start` (conweave-project/conweave-ns3:
`scratch/network-load-balance.cc`) or `src dst pg dport size start` (alibaba-edu/High-Precision-Congestion-Control:
`simulation/scratch/third.cc`): numbers of nodes, priority group, bytes, and seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from anabranch.files.errors import AnabranchError
from anabranch.simulate.importing.plain_text import Line, lines

FORM = "`src dst pg size start` or `src dst pg dport size start`"
NS_PER_S = 1_000_000_000


@dataclass
class FlowList:
    """Flows as CSV, and what else the file says."""

    csv: str
    """Each flow in the line that it has in the file, where there are no blank lines."""
    offset_s: int
    """Whole seconds that all flows begin earlier than in the file: those of the first flow."""
    flows: int
    warnings: list[str]


def read(text: str, file: str) -> FlowList:
    """Reads a flow list. Hosts are named by their numbers, `host3`.

    Starts are what ns-3's clock makes of them: the decimal becomes a binary fraction, of which whole nanoseconds stay.

    Raises:
        AnabranchError: a line is no flow, or there are fewer than the first line says.

    """
    rows = list(lines(text))
    if not rows or len(rows[0].words) != 1:
        raise AnabranchError(f"{file}:1: no number of flows alone; begin with it, and give {FORM} on each line")
    count = _whole(rows[0], rows[0].words[0], "number of flows", file)
    given, rest = rows[1 : count + 1], rows[count + 1 :]
    if len(given) < count:
        raise AnabranchError(
            f"{file}:{rows[0].number}: {len(given)} flows where the first line says {count}; count them"
        )
    if not given:
        raise AnabranchError(f"{file}: no flow; give one per line, {FORM}")
    warnings = (
        [f"{file}:{rest[0].number}: this line and those below are not read: the count is {count}"] if rest else []
    )
    fields = len(given[0].words)
    flows, groups = [], set()
    for line in given:
        if len(line.words) != fields or fields not in (5, 6):
            problem = f"`{' '.join(line.words)}`: {len(line.words)} fields"
            raise AnabranchError(f"{file}:{line.number}: {problem}; write {FORM}")
        src, dst, group = (
            _whole(line, word, name, file) for name, word in zip(("src", "dst", "pg"), line.words, strict=False)
        )
        size = _whole(line, line.words[-2], "size", file)
        if src == dst or not size:
            problem = f"src and dst are both {src}" if src == dst else "size: 0"
            raise AnabranchError(f"{file}:{line.number}: {problem}; give two hosts, and one byte or more")
        groups.add(group)
        flows.append((line.number, src, dst, size, _start_ns(line, file)))
    if len(groups) > 1:
        words = ", ".join(map(str, sorted(groups)))
        warnings.append(f"{file}: priority groups {words} are one class of data here; traffic.transport can part them")
    offset_s = min(flow[4] for flow in flows) // NS_PER_S
    head = "id,src,dst,size_bytes,start_ns"
    body = [
        f"{index},host{src},host{dst},{size},{start - offset_s * NS_PER_S}"
        for index, (_, src, dst, size, start) in enumerate(flows)
    ]
    return FlowList("\n".join([head, *body]) + "\n", offset_s, len(flows), warnings)


def _whole(line: Line, word: str, name: str, file: str) -> int:
    if not (word.isascii() and word.isdecimal() and int(word) < 2**63):
        raise AnabranchError(f"{file}:{line.number}: {name}: `{word}` is no whole number; write {FORM}")
    return int(word)


def _start_ns(line: Line, file: str) -> int:
    try:
        start_s = float(line.words[-1])
        if not 0 <= start_s < 1e9:
            raise ValueError
    except ValueError:
        raise AnabranchError(f"{file}:{line.number}: start: `{line.words[-1]}` is no time; give seconds") from None
    return int(Fraction(start_s) * NS_PER_S)
