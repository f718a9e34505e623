"""`python -m anabranch.cli.reference [ROOT]`: writes all reference pages, and removes obsolete ones."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from anabranch.cli.reference.pages import WRITTEN, pages


def write(root: Path, texts: Mapping[str, str]) -> list[Path]:
    """Writes pages, each by its path; returns those that were changed, added or removed in the repository at `root`."""
    desired = {root / path: text for path, text in texts.items()}
    changed = [path for path, text in desired.items() if not path.is_file() or path.read_text("utf-8") != text]
    for path in changed:
        path.parent.mkdir(exist_ok=True)
        path.write_text(desired[path], encoding="utf-8")
    gone = [path for pattern in WRITTEN for path in root.glob(pattern) if path not in desired]
    for path in gone:
        path.unlink()
    return changed + gone


if __name__ == "__main__":
    repository = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    for changed_page in write(repository, pages(repository)):
        print(changed_page)
