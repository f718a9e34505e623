"""The figure groups that a command line names: `luopan`, `luopan/fig9`, `valo-splitting`, or all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch.errors import AnabranchError
from anabranch.hints import nearest
from anabranch.reproduce.splitting.study import load_toml

FILE = "study.toml"
PAPERS = ("valo", "wino", "dbb", "tdlb", "luopan")
"""In the order of the tables; other folders are studies of our own."""


@dataclass(frozen=True)
class Group:
    """A folder of `studies/`."""

    paper: str
    name: str
    study: str
    """The study's own name."""
    folder: Path
    splits: bool
    """Whether it splits connections instead of simulating a network."""

    @property
    def label(self) -> str:
        """As on the command line."""
        return f"{self.paper}/{self.name}"


def groups() -> list[Group]:
    """Every figure group: of the source tree of this package, or below the working directory.

    Raises:
        AnabranchError: a study that is no TOML.

    """
    roots = dict.fromkeys((Path(__file__).parents[3] / "studies", Path.cwd() / "studies"))
    found: dict[str, Group] = {}
    for file in [file for root in roots for file in sorted(root.glob(f"*/*/{FILE}"))]:
        table = load_toml(file)
        paper, name = file.parent.parent.name, file.parent.name
        group = Group(paper, name, str(table.get("name", name)), file.parent, "techniques" in table)
        found.setdefault(group.label, group)
    order = {paper: place for place, paper in enumerate(PAPERS)}
    return sorted(found.values(), key=lambda group: (order.get(group.paper, len(order)), *_natural(group.label)))


def _natural(label: str) -> tuple[list[str], list[int]]:
    """Words first, then numbers: `fig9` stands before `fig10`."""
    return re.findall(r"\D+", label), [int(number) for number in re.findall(r"\d+", label)]


def select(names: Sequence[str], everything: bool = False) -> list[Group]:
    """The groups of these names, each once, or those of all papers.

    Raises:
        AnabranchError: a name of nothing.

    """
    known = groups()
    if not known:
        raise AnabranchError("studies: there are none here; run in a clone of the repository, which has them")
    if everything:
        return [group for group in known if group.paper in PAPERS]
    chosen: dict[str, Group] = {}
    for name in names:
        named = [group for group in known if name in (group.paper, group.label, group.study)]
        if not named:
            words = [word for group in known for word in (group.paper, group.label, group.study)]
            papers = ", ".join(dict.fromkeys(group.paper for group in known))
            raise AnabranchError(f"{name}: no such study; {nearest(name, dict.fromkeys(words))}; papers: {papers}")
        chosen |= {group.label: group for group in named}
    return list(chosen.values())
