"""The program and the entries for P4 switches against p4c and bmv2, as `vectors/p4/record.py` has recorded them."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from anabranch.deploy.targets.p4.files import ENTRIES, PROGRAMS, write
from support.two_stages import FABRICS, simulated, with_addresses

VECTORS = Path(__file__).parents[3] / "vectors" / "p4"
AGAIN = "record anew: vectors/p4/README.md"


@cache
def digests() -> Mapping[str, str]:
    """SHA-256 of what was compiled and run."""
    found: dict[str, str] = json.loads((VECTORS / "recorded.json").read_text())
    return found


def test_the_program_is_the_one_that_was_compiled() -> None:
    program, p4info, _ = PROGRAMS
    assert digests()[program.name] == hashlib.sha256(program.read_bytes()).hexdigest(), AGAIN
    assert p4info.read_text() == (VECTORS / p4info.name).read_text(), "ours is the compiler's own"


@pytest.mark.parametrize("name", FABRICS)
def test_entries_are_those_that_were_run(name: str, tmp_path: Path) -> None:
    rates, _, more = FABRICS[name]
    (tmp_path / "fabric.toml").write_text(with_addresses(rates, more))
    written = write(tmp_path / "fabric.toml", tmp_path / "out")
    held = {
        f"{name}/{one.name}": hashlib.sha256((tmp_path / "out" / one.name / ENTRIES).read_bytes()).hexdigest()
        for one in written.switches
    }
    assert held == {key: value for key, value in digests().items() if key.startswith(f"{name}/")}, AGAIN


@pytest.mark.parametrize("name", FABRICS)
def test_the_reference_switch_took_the_packets_as_the_simulator_does(name: str) -> None:
    rates, senders, more = FABRICS[name]
    with (VECTORS / "paths.csv").open(newline="") as file:
        recorded = [row["path"].split() for row in csv.DictReader(file) if row["fabric"] == name]
    assert recorded == list(simulated(rates, senders, more))
