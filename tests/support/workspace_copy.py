"""Copies of the tree's Rust workspace, to be changed and compiled by a test."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def workspace_copy(folder: Path) -> Path:
    """A copy of the tree's workspace below a folder.

    Its files are as new as the copy: cargo knows the crates of all copies by the same names, and would take what it
    built of an older copy for this one's.
    """
    copy = folder / "checkout"
    for name in ("crates", "bench"):
        shutil.copytree(ROOT / name, copy / name, copy_function=shutil.copyfile)
    for name in ("Cargo.toml", "Cargo.lock", "rustfmt.toml"):
        shutil.copyfile(ROOT / name, copy / name)
    return copy


def copy_environment() -> dict[str, str]:
    """Environment for cargo in a copy: what is not ours is compiled once for all copies."""
    return {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target" / "in-tree")}
