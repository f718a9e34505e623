"""Seeds of datapaths whose plans give none: the same after a reboot, in whatever network namespace."""

from __future__ import annotations

import re
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

from anabranch.deploy.netlink.namespace import inside
from anabranch.deploy.targets.ebpf.folder import ROOT
from support.command import anabranch
from support.own_datapaths import PATIENCE_S, pairs, with_own_datapaths

PLAN = """\
[switch]
dev = ["in"]
[[group]]
name = "to-leaf2"
match = { ip_dst = ["10.2.0.0/16"] }
ports = ["e1", "e2"]
weights = [2, 1]
"""


@with_own_datapaths
def test_a_seed_that_no_plan_gives_outlives_the_namespace_and_pins_do_not_meet(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    seeds = []
    with ExitStack() as stack:
        for _ in range(2):
            # As after a reboot: another namespace, whose number is another one.
            process = stack.enter_context(subprocess.Popen(["unshare", "--net", "sleep", "600"]))
            stack.callback(process.kill)
            home, mine = Path(f"/proc/{process.pid}/ns/net"), Path("/proc/thread-self/ns/net").readlink()
            deadline = time.monotonic() + PATIENCE_S
            while home.readlink() == mine:
                assert time.monotonic() < deadline
            with inside(str(home)):
                pairs("in", "e1", "e2")
                run = anabranch("apply", str(plan), "--target", "ebpf")
                assert run.returncode == 0, run.stderr
                seeds += re.findall(r"seed=(\d+):", " ".join(run.stdout.split()))
    first, second = seeds
    assert first == second
    # The pins of the first stay, and those of the second stand beside them.
    assert len(list(ROOT.iterdir())) == 2
