"""The figure groups that a command line names: `luopan`, `luopan/fig9`, `valo-splitting`, or all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.files.project import studies
from anabranch.files.toml_document import read_toml
from anabranch.reproduce.backend import backend
from anabranch.reproduce.group import BACKENDS, DEFAULT, FILE, Group
from anabranch.reproduce.positions import key_line
from anabranch.reproduce.record import recorded

PAPERS = ("valo", "wino", "dbb", "tdlb", "luopan")
"""In the order of the tables; other folders are studies of our own."""


def groups() -> list[Group]:
    """Every figure group: those of this package, and below `studies` of the working directory.

    Raises:
        AnabranchError: a study that is no TOML, or of no backend.

    """
    roots = dict.fromkeys((studies().resolve(), (Path.cwd() / "studies").resolve()))
    found: dict[str, Group] = {}
    for file in [file for root in roots for file in sorted(root.glob(f"*/*/{FILE}"))]:
        table = read_toml(file)
        paper, name = file.parent.parent.name, file.parent.name
        group = Group(paper, name, str(table.get("name", name)), file.parent, _backend(file, table))
        found.setdefault(group.label, group)
    order = {paper: place for place, paper in enumerate(PAPERS)}
    return sorted(found.values(), key=lambda group: (order.get(group.paper, len(order)), *_natural(group.label)))


def _backend(file: Path, table: Mapping[str, Any]) -> str:
    given = table.get("backend", DEFAULT)
    if given not in BACKENDS:
        line = key_line(file.read_text(encoding="utf-8"), 0, "backend")
        raise AnabranchError(f"{file}:{line}: backend: {given}: unknown; {nearest(str(given), BACKENDS)}")
    return str(given)


def _natural(label: str) -> tuple[list[str], list[int]]:
    """Words first, then numbers: `fig9` stands before `fig10`."""
    return re.findall(r"\D+", label), [int(number) for number in re.findall(r"\d+", label)]


def select(names: Sequence[str], everything: bool = False, *, with_records: bool = False) -> list[Group]:
    """The groups of these names, each once, or those of all papers.

    A group whose backend runs only by name (the lab's) is chosen by its own name, not by its paper's; `with_records`
    by its paper's too if it has a record.

    Raises:
        AnabranchError: a name of nothing.

    """
    known = groups()
    if everything:
        return [group for group in known if group.paper in PAPERS and _by_paper(group, with_records)]
    chosen: dict[str, Group] = {}
    for name in names:
        named = [group for group in known if name in (group.label, group.study)]
        named += [group for group in known if name == group.paper and _by_paper(group, with_records)]
        if not named:
            words = [word for group in known for word in (group.paper, group.label, group.study)]
            papers = ", ".join(dict.fromkeys(group.paper for group in known))
            hint = nearest(name, dict.fromkeys(words), [group.label for group in known])
            raise AnabranchError(f"{name}: no such study; {hint}; papers: {papers}")
        chosen |= {group.label: group for group in named}
    return list(chosen.values())


def _by_paper(group: Group, with_records: bool) -> bool:
    """Whether the paper's name, or `--all`, means a group."""
    return not backend(group.backend).by_name_only or (with_records and recorded(group) is not None)
