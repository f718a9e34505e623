"""The page about splitting inside other programs: its surface is the crate's, its numbers and its block are right."""

from __future__ import annotations

import re
from pathlib import Path

import anabranch as ab
from support.command import anabranch

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "embedding.md").read_text()
CRATE = ROOT / "crates" / "split"


def documented(source: str) -> set[str]:
    """Public names of a crate's root that its documentation lists."""
    items = re.findall(r"((?:^#\[.*\]\n)*)^pub (?:use \w+::(\{[^}]*\}|\w+)|mod (\w+));", source, re.MULTILINE)
    shown = [used or module for attributes, used, module in items if "doc(hidden)" not in attributes]
    return {name.strip() for names in shown for name in names.strip("{}").split(",") if name.strip()}


def test_the_table_is_the_public_surface() -> None:
    (table,) = re.findall(r"^\| name \| what it is \|\n(.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL)
    named = {name for row in table.splitlines()[1:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == documented((CRATE / "src" / "lib.rs").read_text())


def test_a_public_name_that_the_page_lacks_would_be_noticed() -> None:
    source = "#[doc(hidden)]\npub mod a;\n#[cfg(x)]\n#[doc(hidden)]\npub use b::{C, D};\n"
    source += "pub mod e;\npub use f::{G, H};\n"
    assert documented(source) == {"e", "G", "H"}


def test_methods_that_the_page_names_exist() -> None:
    (row,) = re.findall(r"^\| `Group` \|(.*)\|$", PAGE, re.MULTILINE)
    methods = set(re.findall(r"`([a-z_]+)`", row))
    source = "".join(path.read_text() for path in sorted((CRATE / "src" / "group").glob("*.rs")))
    assert len(methods) > 8
    assert methods <= set(re.findall(r"pub fn (\w+)", source))


def test_examples_are_all_on_the_page_and_in_the_tests() -> None:
    examples = {path.name for path in (CRATE / "examples").glob("*.rs")}
    assert set(re.findall(r"\[`(\w+\.rs)`\]", PAGE)) == examples
    tested = (CRATE / "tests" / "it" / "examples.rs").read_text()
    assert set(re.findall(r"examples/(\w+\.rs)\"", tested)) == examples


def test_techniques_are_counted_right() -> None:
    techniques = ab.techniques()
    stateless = sum(row.granularity == "stateless" for row in techniques)
    assert f"{stateless} of {len(techniques)}" in PAGE
    assert f"one of [{len(techniques)} techniques]" in PAGE


def run_blocks(page: str) -> dict[str, object]:
    """Runs the Python blocks of a page one after the other; returns their names."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    return names


def test_the_blocks_about_proxies_run() -> None:
    run_blocks("docs/proxies.md")


def test_the_page_has_what_split_table_prints(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    printed = ""
    for command in re.findall(r"^\$ anabranch (.*)$", block, re.MULTILINE):
        printed += f"$ anabranch {command}\n" + anabranch(*command.split(), cwd=tmp_path).stdout
    assert [line.rstrip() for line in printed.splitlines()] == block.splitlines()


def test_the_page_about_proxies_has_what_split_prints() -> None:
    page = (ROOT / "docs" / "proxies.md").read_text()
    (command,) = re.findall(r"`anabranch (split examples/[^`]*)`", page)
    (block,) = re.findall(r"^```text\n(.*?)\n^```$", page, re.MULTILINE | re.DOTALL)
    printed = "\n".join(line.rstrip() for line in anabranch(*command.split(), cwd=ROOT).stdout.splitlines())
    assert block in printed
    moved = re.findall(r"^(\S+) .* KiB .* (\d+)$", printed, re.MULTILINE)
    assert len(moved) == 3
    for technique, count in moved:
        assert re.search(rf"{count}\b[^.:]* under `{technique}`", page)


def test_the_python_blocks_run() -> None:
    names = run_blocks("docs/embedding.md")
    snapshot = names["snapshot"]
    assert isinstance(snapshot, bytes)
    assert f"bytes: {len(snapshot):,} of them" in PAGE
