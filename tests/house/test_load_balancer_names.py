"""A load balancer's name stands in its folder, the registry, docs, studies and examples, and nowhere else in code.

A paper's name stands in its studies: what runs and judges them names none, not even in a comment.
"""

from __future__ import annotations

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
BALANCERS = ROOT / "crates/balancers/src"
FOLDERS = sorted(page.parent.name for page in BALANCERS.glob("*/page.md"))
ORDINARY = {"explicit", "ideal", "uec"}
"""Words of their own: explicit paths, an ideal, the Ultra Ethernet Consortium, whose transport there is too."""

ENGINE = ROOT / "python/anabranch/reproduce"
PAPERS = tomllib.loads((ROOT / "studies/papers.toml").read_text())
"""Titles of papers by the folders of their studies."""

ALLOWED = {
    "crates/*/tests/*": "tests",
    "bench/*": "benchmarks",
    "crates/balancers/src/*": "its folder, and the registry",
    "crates/*/tests.rs": "tests",
    "crates/kernel/src/*": "the kernel's program of that name, compiled from the pick in its folder",
    "ebpf/src/bin/presto.rs": "that program",
    "crates/scenario/src/section/fabric.rs": "a simulator cited",
    "crates/scenario/src/section/switch.rs": "a preset of that name, and simulators cited",
    "crates/scenario/src/section/transport.rs": "the receiver's reordering of Presto, a part of the transport",
    "crates/scenario/src/section/transport/rdma.rs": "a simulator cited",
    "python/anabranch/deploy/control/policy/wino.py": "a policy of the controller",
    "python/anabranch/deploy/control/pages/site.py": "the page of that policy",
    "crates/split/src/technique/byte_deficit.rs": "a source cited",
    "crates/traffic/src/sizes/published.rs": "a source cited",
    "crates/py/src/slices.rs": "virtual topologies, which the lab has from their folder",
    "python/anabranch/simulate/scenario/tables.py": "values of keys, written from the registry",
    "python/anabranch/lab/switches/*/forwarding.py": "parameters that programs have fixed, what to run instead",
    "python/anabranch/simulate/importing/*": "load balancers of simulators, whose settings are read",
    "python/anabranch/cli/verbs/import.py": "a simulator cited",
    "python/anabranch/cli/verbs/run.py": "a simulator cited",
    "python/anabranch/cli/verbs/reproduce.py": "an example of a study",
}
"""Other files in which a name is allowed, each with its reason."""

COMMENT = {
    ".rs": re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL),
    ".py": re.compile(r'#[^\n]*|""".*?"""', re.DOTALL),
}


def sources() -> list[Path]:
    """Rust and Python files outside tests and studies."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "crates", "ebpf", "bench", "python/anabranch"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [ROOT / name for name in listed.split("\0") if Path(name).suffix in COMMENT and (ROOT / name).is_file()]


def named(path: Path) -> set[str]:
    """Folders of load balancers whose names stand in the code of a file, comments and docstrings apart."""
    code = COMMENT[path.suffix].sub(" ", path.read_text()).lower()
    names = "|".join(name for name in FOLDERS if name not in ORDINARY)
    return {found[0] for found in re.finditer(rf"(?<![a-z])(?:{names})(?![a-z])", code)}


def test_names_stand_in_their_folders_alone() -> None:
    assert len(FOLDERS) > 15
    elsewhere = {}
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        if not any(fnmatch.fnmatch(name, pattern) for pattern in ALLOWED) and (found := named(path)):
            elsewhere[name] = sorted(found)
    assert not elsewhere


def test_every_exception_is_needed() -> None:
    used = {
        pattern
        for path in sources()
        for pattern in ALLOWED
        if fnmatch.fnmatch(path.relative_to(ROOT).as_posix(), pattern) and named(path)
    }
    assert set(ALLOWED) == used


def papers_named(text: str) -> set[str]:
    """Papers that a text names, by folder or by title."""
    names = "|".join({*PAPERS, *(title.lower() for title in PAPERS.values())})
    return set(re.findall(rf"(?<![a-z])(?:{names})(?![a-z])", text.lower()))


def test_the_engine_of_studies_names_no_paper() -> None:
    assert set(PAPERS) == {path.parent.name for path in ROOT.glob("studies/*/*")} - {"known"}
    files = [path for path in sorted(ENGINE.rglob("*")) if path.suffix in {".py", ".html", ".css"}]
    assert len(files) > 40
    assert {path.name: names for path in files if (names := papers_named(path.read_text()))} == {}


def test_papers_are_seen_wherever_they_are_named() -> None:
    assert papers_named('"""As in VALO\'s Eq. 1."""\nfrom a.wino_lab import b') == {"valo", "wino"}
    assert papers_named("evaluation, window, interval") == set()
