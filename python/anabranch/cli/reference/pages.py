"""The list of what is written from the code: reference pages, and classes of a scenario's tables."""

from __future__ import annotations

from pathlib import Path

from anabranch.cli.reference import (
    architecture,
    collectives,
    command_line,
    fabric_file,
    load_balancers,
    plan_file,
    python_api,
    reproduced,
    results,
    scenario_tables,
    study,
    targets,
)
from anabranch.cli.reference.schema import files as schema_files

WRITTEN = ("docs/load-balancers/*.md", "docs/reproduced/*.md", "docs/schema/*.json")
"""Files of which all are written."""


def pages(root: Path) -> dict[str, str]:
    """Text of each page by its path in the repository at `root`; the papers' verdicts take a while to compute."""
    return {**pages_of_code(root), **pages_of_records(root)}


def pages_of_records(root: Path) -> dict[str, str]:
    """Text of each page that is made of the records of full runs, by its path.

    Of `which-ai.md`, which is written by hand but for its tables, the text is the one that stands there.
    """
    written = (root / "docs/which-ai.md").read_text(encoding="utf-8")
    papers = {f"docs/reproduced/{path}": text for path, text in reproduced.pages().items()}
    return {**papers, "docs/which-ai.md": collectives.page(written)}


def pages_of_code(root: Path) -> dict[str, str]:
    """Text of each page that is made of the code, by its path.

    Of pages that are written by hand but for their tables, the text is the one that stands there.
    """

    def written(path: str) -> str:
        return (root / path).read_text(encoding="utf-8")

    return {
        "ARCHITECTURE.md": architecture.page(written("ARCHITECTURE.md"), root),
        "docs/command-line.md": command_line.page(),
        "docs/plan-file.md": plan_file.page(),
        "docs/study.md": study.page(),
        "docs/fabric-file.md": fabric_file.page(),
        "docs/python.md": python_api.page(),
        "docs/deploy.md": targets.page(written("docs/deploy.md")),
        "docs/results.md": results.page(written("docs/results.md")),
        "python/anabranch/simulate/scenario/tables.py": scenario_tables.page(),
        **{f"docs/schema/{path}": text for path, text in schema_files.pages().items()},
        **{f"docs/{path}": text for path, text in load_balancers.pages().items()},
    }
