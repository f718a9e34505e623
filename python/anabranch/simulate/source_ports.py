"""UDP source ports of queue pairs that lead to paths which share no link."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch._core import Scenario
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest

STEPS_MAX = 200_000
"""Most choices that are tried for a set of disjoint paths."""

Path = tuple[int, ...]


@dataclass(frozen=True)
class ChosenPort:
    """Source port of a queue pair, and the nodes on its path."""

    queue_pair: int
    source_port: int
    path: list[str]


@dataclass(frozen=True)
class ChosenPorts:
    """Source ports for all queue pairs."""

    source: str
    destination: str
    disjoint_most: int
    """Bound on the paths of the fabric that share no link."""
    ports: list[ChosenPort]


def choose_ports(scenario: Scenario, source: str, destination: str, queue_pairs: int) -> ChosenPorts:
    """Chooses source ports for the first queue pairs that a host opens to another, each with a path of its own.

    Raises:
        AnabranchError: a name is no host; switches do not hash header fields; or fewer paths than queue pairs share no
            link, with their number.

    """
    topology = scenario.topology()
    names = topology["nodes"]["name"]
    hosts = {name: number for number, name in enumerate(names[: topology["named_hosts"]])}
    for name in (source, destination):
        if name not in hosts:
            raise AnabranchError(f"ports: {name} is no host; {nearest(name, hosts, list(hosts)[:3])}")
    disjoint_most, lists = scenario.port_paths(hosts[source], hosts[destination], queue_pairs)
    options = [{tuple(path): port for path, port in paths} for paths in lists]
    if len(options) == 1:
        options *= queue_pairs
    chosen, is_most = disjoint_paths([sorted(paths) for paths in options])
    if len(chosen) < queue_pairs:
        many = f"{'' if is_most else 'at least '}{len(chosen)} path{'s' * (len(chosen) != 1)}"
        raise AnabranchError(
            f"ports: {queue_pairs} queue pairs, and the hashes of routing.hash lead to {many} from {source} to "
            f"{destination} that share no link, of at most {disjoint_most} in the fabric; "
            + (
                "ask for as many"
                if len(chosen) >= disjoint_most
                else "ask for as many, or give a tier another offset or algorithm"
            )
        )
    ends = topology["ports"]["to"]
    first = topology["ports"]["from"]
    ports = [
        ChosenPort(number, paths[path], [names[node] for node in (first[path[0]], *(ends[port] for port in path))])
        for number, (path, paths) in enumerate(zip(chosen, options, strict=True))
    ]
    return ChosenPorts(source, destination, disjoint_most, ports)


def disjoint_paths(options: list[list[Path]]) -> tuple[list[Path], bool]:
    """Paths for as many queue pairs as possible, one of each one's options, none of which share a link.

    Returns them for the first queue pairs, and whether there are certainly no more.
    """
    every = {path for paths in options for path in paths}
    # Paths of one length cross each step once: no more are disjoint than there are links at the narrowest step.
    is_even = len({len(path) for path in every}) == 1
    bound = min([len(options), *(len(set(links)) for links in zip(*every, strict=is_even) if is_even)])
    best: list[Path] = []
    chosen: list[Path] = []
    used: set[int] = set()
    nexts = [iter(options[0] if options else ())]
    for _ in range(STEPS_MAX):
        if len(best) == bound or not nexts:
            return best, True
        path = next(nexts[-1], None)
        if path is None:
            nexts.pop()
            if chosen:
                used.difference_update(chosen.pop())
        elif used.isdisjoint(path):
            chosen.append(path)
            used.update(path)
            if len(chosen) > len(best):
                best = list(chosen)
            following = options[len(chosen)] if len(chosen) < len(options) else []
            # Of equal lists, only sets in ascending order are tried.
            if following and following == options[len(chosen) - 1]:
                following = following[following.index(path) + 1 :]
            nexts.append(iter(following))
    return best, False
