"""The house's rules that a program can check."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
LINES_MAX = 500
# Nobody reads these to change them: their generator is what is read.
WRITTEN_BY_A_PROGRAM = "Written by `make reference`"
SOURCES = {".rs", ".py", ".pyi", ".toml", ".md", ".html", ".sh", ".yml"}

MACHINE_PATHS = re.compile(r"(?<![\w.])/(?:root|work|tmp/[a-z]|home/[a-z]|Users)/")
REGISTRY_HOSTS = re.compile(r"--(?:extra-)?index-url|--find-links|files\.pythonhosted")


def tracked() -> list[Path]:
    """Files of the repository, as git lists them."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_crates_depend_only_on_those_before_them() -> None:
    members = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["members"]
    manifests = {member: tomllib.loads((ROOT / member / "Cargo.toml").read_text()) for member in members}
    rank = {manifests[member]["package"]["name"]: index for index, member in enumerate(members)}
    for manifest in manifests.values():
        name = manifest["package"]["name"]
        for table in ("dependencies", "build-dependencies"):
            for dependency in manifest.get(table, {}):
                assert rank.get(dependency, -1) < rank[name], f"{name} must not depend on {dependency}"


def test_no_file_is_longer_than_a_reader_bears() -> None:
    long = {
        str(path.relative_to(ROOT)): len(lines)
        for path in tracked()
        if path.suffix in {".rs", ".py"}
        and len(lines := path.read_text().splitlines()) > LINES_MAX
        and WRITTEN_BY_A_PROGRAM not in lines[0]
    }
    assert not long


def test_nothing_names_a_machine_or_a_registry() -> None:
    here = Path(__file__).resolve()
    for path in tracked():
        if path == here or (path.suffix not in SOURCES and path.name not in {"Makefile", "requirements.lock"}):
            continue
        text = path.read_text()
        for pattern in (MACHINE_PATHS, REGISTRY_HOSTS):
            found = pattern.search(text)
            assert found is None, f"{path.relative_to(ROOT)}: {found and found[0]}"


def test_verbs_are_found_by_themselves() -> None:
    verbs = {path.stem for path in (ROOT / "python/anabranch/cli/verbs").glob("*.py")} - {"__init__"}
    run = subprocess.run([sys.executable, "-m", "anabranch", "--help"], capture_output=True, text=True, check=True)
    for verb in verbs:
        assert len(re.findall(rf"^  {verb}\b", run.stdout, re.MULTILINE)) == 1, verb
