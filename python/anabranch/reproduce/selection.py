"""The figure groups that a command line names: a paper, a study as PAPER/FIGURE or by its name, or all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.files.project import study_root
from anabranch.files.toml_document import read_toml
from anabranch.reproduce.claims.group import BACKENDS, FILE, SIMULATOR, Group
from anabranch.reproduce.claims.positions import key_line
from anabranch.reproduce.records.record import recorded

PAPERS = "papers.toml"


@cache
def papers() -> dict[str, str]:
    """Titles of papers by their folders, in the order of tables; other folders are studies of our own."""
    return {name: str(title) for name, title in read_toml(study_root() / PAPERS).items()}


def groups() -> list[Group]:
    """Every figure group: those of this package, and below `studies` of the working directory.

    Raises:
        AnabranchError: a study that is no TOML, or of no backend.

    """
    roots = dict.fromkeys((study_root().resolve(), (Path.cwd() / "studies").resolve()))
    by_name: dict[str, Group] = {}
    for file in [file for root in roots for file in sorted(root.glob(f"*/*/{FILE}"))]:
        table = read_toml(file)
        paper, name = file.parent.parent.name, file.parent.name
        code = str(table.get("code", ""))
        group = Group(paper, name, str(table.get("name", name)), file.parent, _backend(file, table, code), code)
        by_name.setdefault(group.label, group)
    order = {paper: place for place, paper in enumerate(papers())}
    return sorted(by_name.values(), key=lambda group: (order.get(group.paper, len(order)), *_natural(group.label)))


def _backend(file: Path, table: Mapping[str, Any], code: str) -> str:
    """The name of a backend: one of the engine's, or any where the study names its own code."""
    given = table.get("backend", SIMULATOR)
    if given not in BACKENDS and not code:
        line = key_line(file.read_text(encoding="utf-8"), 0, "backend")
        problem = f"backend: {given}: unknown, and no `code` names a class of the study's own"
        raise AnabranchError(f"{file}:{line}: {problem}; {nearest(str(given), BACKENDS)}")
    return str(given)


def _natural(label: str) -> tuple[list[str], list[int]]:
    """Words first, then numbers: `fig9` stands before `fig10`."""
    return re.findall(r"\D+", label), [int(number) for number in re.findall(r"\d+", label)]


def select(names: Sequence[str], everything: bool = False, *, with_records: bool = False) -> list[Group]:
    """The groups of these names, each once, or those of all papers.

    A lab is chosen by its own name, not by its paper's; `with_records` by its paper's too if it has a record.

    Raises:
        AnabranchError: a name of nothing.

    """
    known = groups()
    if everything:
        return [group for group in known if group.paper in papers() and _by_paper(group, with_records)]
    chosen: dict[str, Group] = {}
    for name in names:
        named = [group for group in known if name in (group.label, group.study)]
        named += [group for group in known if name == group.paper and _by_paper(group, with_records)]
        if not named:
            words = [word for group in known for word in (group.paper, group.label, group.study)]
            folders = ", ".join(dict.fromkeys(group.paper for group in known))
            hint = nearest(name, dict.fromkeys(words), [group.label for group in known])
            raise AnabranchError(f"{name}: no such study; {hint}; papers: {folders}")
        chosen |= {group.label: group for group in named}
    return list(chosen.values())


def _by_paper(group: Group, with_records: bool) -> bool:
    """Whether the paper's name, or `--all`, means a group."""
    return not group.by_name_only or (with_records and recorded(group) is not None)
