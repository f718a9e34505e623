"""The documentation: reference pages are what the code says, links lead somewhere, commands and blocks work."""

from __future__ import annotations

import ast
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import anabranch as ab
from anabranch.cli import app
from anabranch.cli.reference.__main__ import write
from anabranch.cli.reference.pages import WRITTEN, pages_of_code, pages_of_records

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ON_A_SWITCH = DOCS / "tutorials" / "weighted-split.md"
"""Tutorial that needs a switch and has a test of its own."""
TUTORIALS = sorted(set((DOCS / "tutorials").glob("*.md")) - {ON_A_SWITCH})
README_LINES_MAX = 120
CHANGE_GROUPS = ("Results", "Added", "Changed", "Fixed")
CHANGE_CHARACTERS_MAX = 300
LISTED = subprocess.run(
    ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    cwd=ROOT,
    capture_output=True,
    text=True,
    check=True,
).stdout
TRACKED = {ROOT / name for name in LISTED.split("\0") if name and (ROOT / name).is_file()}
PAGES = sorted(path for path in TRACKED if path.suffix == ".md" and path.relative_to(ROOT).parts[0] != "crates")
GENERATED = pages_of_code(ROOT)
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.mark.parametrize("name", GENERATED)
def test_reference_pages_are_what_the_code_says(name: str) -> None:
    assert (ROOT / name).is_file(), f"{name} is missing: make reference"
    assert (ROOT / name).read_text() == GENERATED[name], f"{name} is stale: make reference"


def test_pages_of_the_papers_are_what_the_records_say() -> None:
    papers = pages_of_records(ROOT)
    for name, text in papers.items():
        assert (ROOT / name).read_text() == text, f"{name} is stale: make reference"
        assert "| fails |" not in text, f"{name}: ours contradicts theory"
    found = {path.relative_to(ROOT).as_posix() for pattern in WRITTEN for path in ROOT.glob(pattern)}
    assert found <= {*GENERATED, *papers}, "a page outlives what it is about"


def test_writing_changes_what_is_stale_and_removes_what_is_gone(tmp_path: Path) -> None:
    for name in ("Cargo.toml", "pyproject.toml", "crates", "bench", "python"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "docs").mkdir()
    for name in ("ARCHITECTURE.md", "docs/deploy.md", "docs/results.md"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    texts = pages_of_code(tmp_path)
    assert write(tmp_path, texts)
    (tmp_path / "docs" / "python.md").write_text("stale")
    gone = tmp_path / "docs/load-balancers" / "gone.md"
    gone.write_text("of a load balancer that is no more")
    assert write(tmp_path, texts) == [tmp_path / "docs" / "python.md", gone]
    assert write(tmp_path, texts) == []


@pytest.mark.parametrize("page", [ROOT / "ARCHITECTURE.md", DOCS / "adding.md"], ids=lambda page: page.stem)
def test_files_that_the_page_names_exist(page: Path) -> None:
    named = re.findall(r"`([\w.*{},-]+/[\w./*{},-]*)`", page.read_text())
    assert len(named) > 10
    for name in named:
        assert list(ROOT.glob(re.sub("[A-Z]{4,}", "*", name))), f"{name}: no such file"


def anchors(page: Path) -> set[str]:
    """Names of a page's headings, as mkdocs and code hosts make them."""
    text = SPAN.sub(lambda found: "" if found[0].startswith("```") else found[0][1:-1], page.read_text())
    heads = re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head) for head in heads]
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", head.lower()).strip()) for head in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(SPAN.sub("", page.read_text())):
        if re.match(r"https?:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target in TRACKED, f"{link}: no such file"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link}: no such heading"


def imported_names(text: str) -> Iterator[tuple[str, str, set[str]]]:
    """What the Python blocks of a page import from this package: module, name, and attributes that they ask it for."""
    for language, _, source in BLOCK.findall(text):
        if language != "python":
            continue
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "anabranch":
                for alias in node.names:
                    name = alias.asname or alias.name
                    asked = {
                        one.attr
                        for one in ast.walk(tree)
                        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == name
                    }
                    yield str(node.module), alias.name, asked


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.relative_to(ROOT).as_posix() not in GENERATED],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_what_python_blocks_import_is_there(page: Path) -> None:
    for module, name, asked in imported_names(page.read_text()):
        value = getattr(import_module(module), name, None) or import_module(f"{module}.{name}")
        assert [one for one in sorted(asked) if not hasattr(value, one)] == [], f"{module}.{name}"


def test_imports_of_blocks_are_seen() -> None:
    block = "```python\nfrom anabranch.lab.fabric import topology as t\nt.Lab.up(1)\n```\n"
    assert list(imported_names(block)) == [("anabranch.lab.fabric", "topology", {"Lab"})]


def test_every_page_is_in_the_navigation_once() -> None:
    named = re.findall(r"[:-] (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert len(set(named)) == len(named)
    # docs/site.py makes pages of notebooks.
    made = {path.with_suffix(".md") for path in TRACKED if path.suffix == ".ipynb"}
    assert {ROOT / name for name in named} <= TRACKED | made
    written = {path.relative_to(ROOT).as_posix() for path in PAGES if path.is_relative_to(DOCS)}
    listed = {name for name in written if not any(Path(name).match(pattern) for pattern in WRITTEN)}
    assert listed <= set(named), "pages that the navigation of mkdocs.yml lacks"


def test_the_readme_is_short_and_counts_right() -> None:
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= README_LINES_MAX
    (count,) = set(re.findall(r"(\d+) load balancers", readme))
    assert int(count) == sum(balancer.setting == "routing.balance" for balancer in ab.schemes())
    (count,) = re.findall(r"(\d+) techniques", readme)
    assert int(count) == len(ab.techniques())


def test_the_changelog_begins_with_this_version() -> None:
    (version,) = re.findall(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    newest, *_ = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest == version
    for lock in ("Cargo.lock", "ebpf/Cargo.lock", "fuzz/Cargo.lock"):
        ours = re.findall(r'name = "anabranch-.*"\nversion = "(.*)"', (ROOT / lock).read_text())
        assert set(ours) - {"0.0.0"} == {version}, lock


def test_the_changelog_has_a_line_for_each_change_in_four_groups() -> None:
    _, *versions = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    for version in versions:
        title, *lines = filter(None, version.splitlines())
        groups = [line.removeprefix("### ") for line in lines if line.startswith("#")]
        assert groups == [name for name in CHANGE_GROUPS if name in groups], f"{title}: groups in another order"
        assert lines[0].startswith("#"), f"{title}: a change in no group"
        for group, following in itertools.pairwise([*lines, "#"]):
            assert not (group.startswith("#") and following.startswith("#")), f"{title}: {group} is empty"
        for line in lines:
            if not line.startswith("#"):
                assert re.fullmatch(r"\* (?!.*\. [A-Z])\S.*\.", line), f"{title}: no sentence of one line: {line}"
                assert len(line) <= CHANGE_CHARACTERS_MAX, f"{title}: {len(line)} characters: {line}"


def commands(page: Path) -> Iterator[list[str]]:
    """Words of each command line of ours in a page's blocks."""
    for block in re.findall(r"^```\w*[^\n]*\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        for line in re.findall(r"^(?:sudo )?(anabranch [a-z].*)$", block, re.MULTILINE):
            yield [word.strip("[]|") for word in re.sub(r"\s#.*", "", line).split()[1:]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_and_their_options_exist(page: Path) -> None:
    for words in commands(page):
        check_options(words)


def check_options(words: list[str]) -> None:
    command: Any = get_command(app)
    rest = list(words)
    while rest and hasattr(command, "get_command") and (below := command.get_command(None, rest[0])):
        command = below
        rest.pop(0)
    if hasattr(command, "commands"):  # `anabranch split TRACE` has a command without a name
        command = next(iter(command.commands.values()))
    if not command.context_settings.get("allow_interspersed_args", True):  # `anabranch install` takes another command
        own = next((place for place, word in enumerate(rest) if not word.startswith("-")), len(rest))
        check_options(rest[own:])
        rest = rest[:own]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    given = {word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
    assert given <= known | {"--help"}, f"anabranch {' '.join(words)}"


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorials_do_what_they_say(page: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for language, file, text in BLOCK.findall(page.read_text()):
        if file:
            (tmp_path / file).write_text(text)
        else:
            assert language == "sh", f"a block of {language} that is no file"
            done = subprocess.run(
                ["bash", "-e", "-c", text],
                cwd=tmp_path,
                env={**os.environ, "PATH": path},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
