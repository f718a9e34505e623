"""Material of the project beside its code, in a checkout or in an installed package: studies, examples, Rust sources.

The folder of this module has it by symbolic links. In a checkout they lead to the folders at the root, where readers
look for them; a wheel has the files themselves in their place. Nothing else of the package may guess where they are.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def study_root() -> Path:
    """Folder of the published evaluations: `PAPER/FIGURE/study.toml`."""
    return _folder() / "studies"


def examples() -> Path:
    """Folder of the scenarios, plans, captures and schemes that the documentation uses."""
    return _folder() / "examples"


def schemas() -> Path:
    """Folder of the JSON Schemas of the files that people write: `KIND.json`."""
    return _folder() / "schema"


def sources() -> Path:
    """Folder with `crates/` and `Cargo.lock` of this version: the checkout, or a folder of the installed package."""
    return (_folder() / "sources" / "crates").resolve().parent


def is_installed(folder: Path) -> bool:
    """Whether a folder belongs to an installed package, where nobody writes, rather than to a checkout."""
    return folder.resolve().is_relative_to(_folder().resolve())


def _folder() -> Path:
    # The compiled core is loaded from a file, so the package is always a folder, never an archive.
    return Path(str(files("anabranch.files.project")))
