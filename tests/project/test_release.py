"""Files around a release say what the code says."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from anabranch.files.hints import PACKAGES, install

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]


def test_missing_packages_are_those_of_the_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {name: wanted for name, wanted in project["optional-dependencies"].items() if name != "dev"}
    names = {name: tuple(re.split(r"[^\w-]", package)[0] for package in wanted) for name, wanted in extras.items()}
    assert names == PACKAGES
    assert install("p4") == "pip install finsy"


def test_no_text_sends_people_to_a_package_that_is_not_published() -> None:
    for path in [*(ROOT / "python").rglob("*.py"), *(ROOT / "docs").rglob("*.md")]:
        assert not re.search(r"pip install '?anabranch\b", path.read_text()) or path.name == "install.md", path


def test_the_citation_is_of_this_version() -> None:
    (version,) = re.findall(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()


def test_what_runs_elsewhere_is_what_people_run() -> None:
    """Commands that the workflow runs exist, and the image copies what `make wheel` writes."""
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert re.findall(r"^      - run: (.*)$", workflow, re.MULTILINE) == [
        'sudo --preserve-env=HOME env "PATH=$PATH" .ci/run',
        "make wheel",
    ]
    assert (ROOT / ".ci" / "run").is_file()
    assert re.search(r"^wheel: \.make/wheel/environment\b", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert "COPY dist/*.whl " in (ROOT / "Dockerfile").read_text()
