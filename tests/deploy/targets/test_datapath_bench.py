"""The measurement of datapaths end to end runs, and what it measures can be true."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from anabranch.split.stats.mape import mape_floor
from support.lab_fixture import need_kernel_lab

PROGRAM = Path(__file__).parents[3] / "bench" / "datapath" / "measure.py"
CONNECTIONS, WEIGHTS = 4096, (4, 3, 2, 1)
TIMEOUT_S = 600


def measured(folder: Path, row: str) -> dict[str, float]:
    """The figures of one row of the table, of one repetition."""
    need_kernel_lab()
    for program in ("iperf3", "ethtool"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} not installed")
    file = folder / "figures.json"
    command = [sys.executable, str(PROGRAM), "--quick", "--offloads", "off", "--only", row, "--json", str(file)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(file.read_text())
    assert not found["refused"], found["refused"]
    ((figures,),) = found["figures"].values()
    return dict(figures)


@pytest.mark.parametrize("row", ["nexthop group: mpath", "eBPF tc: slots", "eBPF tc, routed: slots"])
def test_a_row_of_the_table(tmp_path: Path, row: str) -> None:
    figures = measured(tmp_path, row)
    # Speeds are the machine's; that all arrived, by the weights, is not.
    assert min(figures[key] for key in ("1 conn off", "8 conn off", "pps")) > 0
    assert figures["flood delivered"] <= 1
    # Equal shares would be 57 % off.
    assert figures["mape"] < 4 * mape_floor([weight / sum(WEIGHTS) for weight in WEIGHTS], CONNECTIONS)
