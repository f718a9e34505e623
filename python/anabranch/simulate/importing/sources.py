"""Files of other tools: what each is, and which of a folder belong together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from anabranch.files.errors import AnabranchError
from anabranch.simulate.importing import ns3_config
from anabranch.simulate.importing.plain_text import lines, read

BY_SUFFIX = {
    ".graphml": "graphml",
    ".gml": "gml",
    ".dot": "dot",
    ".gv": "dot",
    ".json": "node-link",
    ".topo": "htsim",
    ".yml": "containerlab",
    ".yaml": "containerlab",
    ".cm": "htsim-flows",
}
TOPOLOGIES = ("ns3", "htsim", "graphml", "gml", "dot", "node-link", "containerlab")
RATE = re.compile(r"\d+(\.\d+)?[kKMGT]?b(ps|/s)")
FOLDERS_DEEP = 3
FILES_MOST = 2000
"""Most files that are looked at in a folder, so that `/` is not read whole."""
LISTED = 6


@dataclass
class Source:
    """File with what it is."""

    path: Path
    kind: str
    text: str


@dataclass
class Sources:
    """Files of one experiment."""

    topology: Source
    flows: Source | None = None
    sizes: Source | None = None
    config: ns3_config.Config | None = None


def kind_of(path: Path, text: str) -> str | None:
    """What a file is; `None` if it is nothing that can be imported."""
    if (kind := BY_SUFFIX.get(path.suffix.lower())) is not None:
        if kind == "containerlab" and "topology:" not in text:
            return None
        return kind if kind != "node-link" or '"nodes"' in text else None
    if ns3_config.is_config(text):
        return "config"
    begun = [line.words for _, line in zip(range(4), lines(text), strict=False)]
    if len(begun) > 2 and all(word.isdecimal() for word in begun[0][:5]):
        last = begun[-1]
        if len(begun[0]) in (3, 6) and ((len(last) == 5 and RATE.fullmatch(last[2])) or all(map(str.isdecimal, last))):
            return "ns3"
    if len(begun) > 1 and len(begun[0]) == 1 and begun[0][0].isdecimal() and len(begun[1]) in (5, 6):
        return "ns3-flows"
    if len(begun) > 1 and all(len(words) == 2 for words in begun) and begun[0] == ["0", "0"]:
        return "sizes"
    return None


def gather(paths: Iterable[Path]) -> tuple[Sources, list[str]]:
    """The files of one experiment, from files or a folder of it; with warnings.

    A configuration names topology and flows; without one there must be one topology.

    Raises:
        AnabranchError: there is none, or there are several.

    """
    sources: list[Source] = []
    for path in paths:
        if path.is_dir():
            sources += _within(path)
            continue
        text = read(path)
        kind = kind_of(path, text)
        if kind is None:
            raise AnabranchError(
                f"{path}: nothing that can be imported; give a topology of ns-3, htsim, containerlab, GraphML, GML, "
                "DOT or node-link JSON, flows or sizes of HPCC or conweave-ns3, or their config.txt"
            )
        sources.append(Source(path, kind, text))
    warnings: list[str] = []
    config_source = _one(sources, ("config",), "configuration")
    config = None
    if config_source is not None:
        config = ns3_config.read(config_source.text, str(config_source.path))
        warnings += config.warnings
    named = [
        _named(config_source.path, name, sources) if config_source is not None and name else None
        for name in ((config.topology, config.flows) if config is not None else (None, None))
    ]
    topology = named[0] or _one(sources, TOPOLOGIES, "topology")
    if topology is None:
        where = ", ".join(map(str, paths))
        raise AnabranchError(
            f"{where}: no topology; give a file of ns-3, htsim, containerlab, GraphML, GML, DOT or JSON"
        )
    flows = named[1] or _one(sources, ("ns3-flows", "htsim-flows"), "list of flows")
    sizes = None if flows is not None else _one(sources, ("sizes",), "distribution of sizes")
    return Sources(topology, flows, sizes, config), warnings


def _within(folder: Path) -> list[Source]:
    """What can be imported of a folder: from the least depth at which there is a topology or a configuration."""
    depth, folders, seen = 0, [folder], 0
    sources: list[Source] = []
    while folders and depth <= FOLDERS_DEEP:
        below: list[Path] = []
        for one in folders:
            try:
                paths = sorted(one.iterdir())
            except OSError as error:
                raise AnabranchError(f"{one}: {error.strerror}; let it be read, or name the files to import") from None
            for path in paths:
                seen += 1
                if seen > FILES_MOST:
                    raise AnabranchError(f"{folder}: more than {FILES_MOST} files; name those to import")
                if path.name.startswith("."):
                    continue
                if path.is_dir():
                    below.append(path)
                elif path.is_file() and (path.suffix.lower() in {*BY_SUFFIX, ".txt", ".conf", ""}):
                    text = _text(path)
                    if text is not None and (kind := kind_of(path, text)) is not None:
                        sources.append(Source(path, kind, text))
        if any(source.kind in (*TOPOLOGIES, "config") for source in sources):
            return sources
        depth, folders = depth + 1, below
    return sources


def _text(path: Path) -> str | None:
    try:
        return read(path)
    except AnabranchError:
        # A folder has files of all sorts.
        return None


def _one(sources: list[Source], kinds: Iterable[str], noun: str) -> Source | None:
    some = [source for source in sources if source.kind in kinds]
    if len(some) > 1:
        names = ", ".join(str(source.path) for source in some[:LISTED]) + (", ..." if len(some) > LISTED else "")
        raise AnabranchError(f"more than one {noun}: {names}; name the files, as in anabranch import TOPOLOGY FLOWS")
    return some[0] if some else None


def _named(config: Path, name: str, sources: list[Source]) -> Source | None:
    """File that a configuration names: as its simulator finds it from a folder above, or beside it."""
    for folder in [config.parent, *config.parent.parents]:
        path = folder / name
        if path.is_file():
            return Source(path, _kind_named(path), read(path))
    beside = [source for source in sources if source.path.name == Path(name).name]
    return beside[0] if beside else None


def _kind_named(path: Path) -> str:
    kind = kind_of(path, read(path))
    if kind not in ("ns3", "ns3-flows"):
        raise AnabranchError(f"{path}: neither a topology of ns-3 nor its flows; the configuration names it as one")
    return kind
