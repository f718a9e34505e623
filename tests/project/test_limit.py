"""`tests/limit.sh`: a run that does not end is ended, with all that it started, and says where it stood."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.waiting import wait

LIMIT = Path(__file__).parents[1] / "limit.sh"
HANGS = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


def test_what_hangs_is_ended_with_its_children() -> None:
    run = subprocess.run([str(LIMIT), "1", sys.executable, "-c", HANGS], capture_output=True, text=True, check=False)
    assert run.returncode == 124
    assert "still running after 1 s" in run.stderr
    assert "time.sleep(600)" in run.stderr
    assert "sleep" in run.stderr.split("still running")[1]
    child = Path("/proc", run.stdout.strip(), "stat")

    def ended() -> bool:
        # Killed, it stays as a zombie until somebody asks for its status.
        return not child.exists() or child.read_text().rpartition(")")[2].split()[0] == "Z"

    wait(ended, lambda: f"{child} still runs")


def test_what_ends_has_its_own_status() -> None:
    for status in (0, 3):
        run = subprocess.run(
            [str(LIMIT), "60", "sh", "-c", f"echo said; exit {status}"], capture_output=True, text=True
        )
        assert (run.returncode, run.stdout, run.stderr) == (status, "said\n", "")
