"""The documentation as a site: what its hooks take from the repository."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_files_that_pages_link_to_are_on_the_site() -> None:
    # mkdocs has an environment of its own, so the hooks' expression is read, not imported.
    source = (ROOT / "docs/site.py").read_text()
    pattern = re.search(r'^LINKED = re\.compile\(r"(.+)"\)$', source, re.MULTILINE)
    assert pattern is not None
    page = ROOT / "docs/own-scheme.md"
    linked = {(page.parent / link).resolve() for link in re.findall(pattern[1], page.read_text())}
    for name in ("examples/own/small_plb.py", "crates/balancers/tests/doors/main.rs", "examples/own/study.toml"):
        assert ROOT / name in linked
    assert all(path.exists() for path in linked)
