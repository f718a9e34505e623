"""Folder for a load balancer in the tree: its entry in the registry, its pick, the switches that run it, its page.

The template is the folder of a load balancer called `blank-scheme`; a new one is the same under another name.
"""

from __future__ import annotations

import re
from pathlib import Path

from anabranch.files.atomic_folder import written_whole
from anabranch.files.errors import AnabranchError
from anabranch.files.project import is_installed
from anabranch.simulate.load_balancers import schemes
from anabranch.simulate.own.crate import check_name, find_sources, renamed

TEMPLATE = Path(__file__).parent / "folder"
SOURCES = Path("crates", "balancers", "src")
"""Place of the folders in a checkout."""


def write_folder(name: str, source: Path | None) -> Path:
    """Writes the folder of the load balancer `name` into a checkout, whole or not at all; the registry stays as it is.

    Raises:
        AnabranchError: the name cannot be a load balancer's, or is taken, or there is no checkout.

    """
    check_name(name, "a load balancer")
    checkout = find_sources(source)
    if is_installed(checkout):
        raise AnabranchError(
            f"--in-tree: {checkout} has sources, but is no checkout to work in; clone the repository, and name it with "
            "--source DIR, or leave --in-tree out for a crate"
        )
    sources = checkout / SOURCES
    if not (sources / "registry.rs").is_file():
        raise AnabranchError(f"{sources}: this checkout has no load balancers; give a newer one with --source DIR")
    target = sources / name.replace("-", "_")
    taken = [path for path in (target, target.with_suffix(".rs")) if path.exists()]
    if taken:
        raise AnabranchError(f"{taken[0]}: exists already; choose another name")
    if name in {balancer.name for balancer in schemes()} or registered(name, sources):
        raise AnabranchError(f"{name}: a load balancer has this name already; choose another")
    with written_whole(target) as part:
        for path in sorted(TEMPLATE.iterdir()):
            if path.is_file():
                text = renamed(path.read_text(encoding="utf-8"), name, sources)
                (part / path.name).write_text(text, encoding="utf-8")
    return target


def registered(name: str, sources: Path) -> bool:
    """Whether a descriptor in these sources has the name."""
    entry = re.compile(rf'\bname: "{re.escape(name)}"')
    return any(entry.search(path.read_text(encoding="utf-8")) for path in sources.rglob("*.rs"))


def lines_to_add(name: str) -> list[tuple[Path, str]]:
    """Lines that make the new folder a module and an entry of the registry, each with the file that it goes into."""
    module = name.replace("-", "_")
    return [
        (SOURCES / "lib.rs", f"pub mod {module};"),
        (SOURCES / "registry.rs", f"    &crate::{module}::{module.upper()},"),
    ]
