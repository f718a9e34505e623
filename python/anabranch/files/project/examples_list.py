"""Examples by name, and a copy of them for whoever wants to run and change them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import NamedTuple

from anabranch.files.atomic_folder import written_whole
from anabranch.files.errors import AnabranchError
from anabranch.files.project import examples

UNWANTED = shutil.ignore_patterns("__pycache__")


class Example(NamedTuple):
    """A file of the examples."""

    name: str
    """Path within their folder."""
    about: str
    """First sentence that it says about itself, or its size if it is no text."""


def listed() -> list[Example]:
    """Every example, in the order of the alphabet."""
    folder = examples()
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return [Example(path.relative_to(folder).as_posix(), _about(path)) for path in paths]


def copy(target: Path) -> None:
    """Copies the examples into a new folder, whole or not at all.

    Raises:
        AnabranchError: the folder exists, or cannot be written.

    """
    if target.exists():
        raise AnabranchError(f"{target}: exists already; give a folder that does not, or remove it")
    if not target.parent.is_dir():
        raise AnabranchError(f"{target}: there is no directory {target.parent}; make it first")
    with written_whole(target) as part:
        shutil.copytree(examples(), part, dirs_exist_ok=True, ignore=UNWANTED)


def _about(path: Path) -> str:
    try:
        first = path.read_text(encoding="utf-8").partition("\n")[0]
    except UnicodeDecodeError:
        return f"{path.stat().st_size / 1e6:.1f} MB"
    # Behind the colon of many stands the command that runs them.
    return re.sub(r": `.*|; docs/.*", "", first).strip('#" .:')
