"""The list of reference pages."""

from __future__ import annotations

from pathlib import Path

from anabranch.reference import command_line, fabric_file, load_balancers, plan_file, python_api, results

FOLDERS = ("load-balancers",)
"""Folders that hold reference pages and nothing else."""


def pages(docs: Path) -> dict[str, str]:
    """Text of each page by its name below `docs`, where the pages of which only tables are generated stand already."""
    return {
        "command-line.md": command_line.page(),
        "plan-file.md": plan_file.page(),
        "fabric-file.md": fabric_file.page(),
        "python.md": python_api.page(),
        "results.md": results.page((docs / "results.md").read_text(encoding="utf-8")),
        **load_balancers.pages(),
    }
