"""Blocks of TOML that begin with the kind of a scenario's fabric: each is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from anabranch.simulate.runs.load import load

DOCS = Path(__file__).parents[2] / "docs"
TRAFFIC = '\n[[traffic]]\nkind = "once"\npattern = "random-pairs"\n'
BLOCK = re.compile(r"^```toml\n(\[fabric\]\nkind = .*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in sorted(DOCS.glob("*.md"))
    # That page's blocks are fabrics of a controller.
    if page.name != "fabric-file.md"
    for number, block in enumerate(BLOCK.findall(page.read_text()))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_that_begins_with_a_fabric_is_one(block: str, tmp_path: Path) -> None:
    (tmp_path / "block.toml").write_text(block if "[[traffic]]" in block else block + TRAFFIC)
    assert load(tmp_path / "block.toml").topology()["named_hosts"] > 1


def test_hosts_of_two_links_are_as_many_and_as_fast_as_their_page_says(tmp_path: Path) -> None:
    page = (DOCS / "accelerator-fabrics.md").read_text()
    (said,) = re.findall(r"here are (\d+) hosts of (\d+) Gbit/s", page)
    (block,) = (str(block.values[0]) for block in BLOCKS if "links_per_host" in str(block.values[0]))
    (tmp_path / "block.toml").write_text(block + TRAFFIC)
    topology = load(tmp_path / "block.toml").topology()
    assert (topology["named_hosts"], topology["ports"]["rate_bps"][0]) == (int(said[0]), int(said[1]) * 10**9)
