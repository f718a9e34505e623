"""Plans that go back unless they are confirmed, for every target: what stands there is asked of the target's world."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from test_common import World, in_every_world, in_world

from anabranch import AnabranchError
from anabranch.deploy.confirm.pending import file_of, late, run_folder, settle
from anabranch.deploy.targets import verbs
from anabranch.deploy.targets.registry import TARGETS, target
from support.command import anabranch
from support.waiting import wait

LONG, SHORT = "1h", "0.5s"


@pytest.fixture(autouse=True)
def run_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))


def apply(world: World, plan: Path, *options: str) -> str:
    """Applies on the command line; returns what it prints."""
    done = anabranch("apply", str(plan), "--target", world.name, *world.flags, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def confirm(world: World, plan: Path) -> tuple[int, str]:
    """Confirms on the command line; returns status and output."""
    done = anabranch("confirm", str(plan), "--target", world.name, *world.flags)
    return done.returncode, done.stdout + done.stderr


def log() -> str:
    """Everything that processes reported."""
    return "".join(file.read_text() for file in run_folder().glob("*.log"))


def waiting_file(world: World, plan: Path) -> Path:
    """File of what waits."""
    one = target(world.name)
    planned = one.read(str(plan), world.options)
    with one.observe(planned, world.options, writes=False) as observed:
        return file_of(one.scope(planned, observed))


def await_end(file: Path) -> None:
    """Waits until nothing waits and nothing goes back."""
    wait(lambda: not file.exists() and not late(file).exists(), lambda: log() or "still pending")


@in_every_world
def test_what_is_not_confirmed_goes_back(name: str, tmp_path: Path) -> None:
    def check(world: World) -> None:
        nothing = world.state()
        first = world.plan((2, "[4, 3, 2]"), (3, "[1, 1, 1]"))
        # The first plan goes back to nothing, the second to the first.
        for before in (nothing, None):
            if before is None:
                world.apply(first)
                before = world.state()
                first = world.plan((2, "[1, 5, 2]"))
            printed = apply(world, first, "--confirm", SHORT)
            assert "goes back in 0.5 s unless it is confirmed" in " ".join(printed.split())
            await_end(waiting_file(world, first))
            assert world.state() == before
        assert log().count("not confirmed in 0.5 s: gone back") == 2

    in_world(name, tmp_path, check)


@in_every_world
def test_what_is_confirmed_stays(name: str, tmp_path: Path) -> None:
    def check(world: World) -> None:
        world.apply(world.plan((2, "[4, 3, 2]")))
        plan = world.plan((2, "[1, 5, 2]"))
        apply(world, plan, "--confirm", LONG)
        after, file = world.state(), waiting_file(world, plan)
        process = json.loads(file.read_text())["process"]
        # Meanwhile nobody else changes what it would go back from.
        for verb in ("apply", "remove"):
            done = anabranch(verb, str(plan), "--target", name, *world.flags)
            assert (done.returncode, done.stdout) == (2, "")
            assert f"(process {process}); confirm it with `anabranch confirm {plan}`" in done.stderr
        assert anabranch("diff", str(plan), "--target", name, *world.flags).returncode == 0
        assert confirm(world, plan) == (0, f"confirmed: {plan} stays\n")
        wait(lambda: not Path(f"/proc/{process}").exists(), lambda: "the process has not ended")
        assert "confirmed" in log()
        assert world.state() == after
        assert confirm(world, plan)[0] == 1
        assert world.apply(plan).changes == 0

    in_world(name, tmp_path, check)


KILLED = """
import os, signal
from anabranch.deploy.targets import verbs
from anabranch.__main__ import start

def outcome(change, warnings, *, dry_run):
    if {before}:
        os.kill(os.getpid(), signal.SIGKILL)
    change.commit()
    os.kill(os.getpid(), signal.SIGKILL)

verbs._outcome = outcome
start()
"""


@in_every_world
def test_a_plan_whose_apply_is_killed_goes_back(name: str, tmp_path: Path) -> None:
    killed(name, tmp_path, before=False)


def test_an_apply_that_is_killed_before_its_change_leaves_nothing(tmp_path: Path) -> None:
    killed("table", tmp_path, before=True)


def killed(name: str, folder: Path, *, before: bool) -> None:
    """Kills `apply` as soon as the plan is in force, or just before."""

    def check(world: World) -> None:
        world.apply(world.plan((2, "[4, 3, 2]")))
        state, plan = world.state(), world.plan((2, "[1, 5, 2]"))
        words = ["apply", str(plan), "--target", name, *world.flags, "--confirm", SHORT]
        done = subprocess.run([sys.executable, "-c", KILLED.format(before=before), *words], check=False)
        assert done.returncode == -signal.SIGKILL
        await_end(waiting_file(world, plan))
        assert world.state() == state
        assert ("gone back, 0 changes" in log()) is before

    in_world(name, folder, check)


def test_going_back_is_tried_until_it_succeeds(tmp_path: Path) -> None:
    def check(world: World) -> None:
        world.apply(world.plan((2, "[4, 3, 2]")))
        before = world.state()
        plan = world.plan((2, "[1, 5, 2]"))
        apply(world, plan, "--confirm", SHORT)
        file, (tables,) = waiting_file(world, plan), (tmp_path / "tables").glob("owner-0.json")
        tables.rename(tmp_path / "kept.json")
        tables.mkdir()
        wait(lambda: "going back failed" in log(), lambda: log() or "no report")
        with pytest.raises(AnabranchError, match="its time is over and it goes back"):
            settle(f"tables in {tables}")
        assert confirm(world, plan)[0] == 2
        tables.rmdir()
        await_end(file)
        assert world.state() == before

    in_world("table", tmp_path, check)


def test_a_change_that_is_refused_leaves_nothing_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(world: World) -> None:
        plan = world.plan((2, "[4, 3, 2]"))

        def refused(*_: object, **__: object) -> verbs.Outcome:
            raise AnabranchError("no")

        monkeypatch.setattr(verbs, "_outcome", refused)
        with pytest.raises(AnabranchError, match="no"):
            verbs.apply(target("table"), str(plan), world.options, dry_run=False, confirm_s=3600.0)
        monkeypatch.undo()
        monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
        file = waiting_file(world, plan)
        assert not file.exists()
        assert world.apply(plan).changes == 1

    in_world("table", tmp_path, check)


def test_a_process_that_was_killed_holds_nobody_up(tmp_path: Path) -> None:
    def check(world: World) -> None:
        plan = world.plan((2, "[4, 3, 2]"))
        apply(world, plan, "--confirm", LONG)
        process = json.loads(waiting_file(world, plan).read_text())["process"]
        os.kill(process, signal.SIGKILL)
        wait(lambda: not Path(f"/proc/{process}").exists(), lambda: "the process has not ended")
        assert confirm(world, plan) == (1, f"nothing waits to be confirmed: {plan}\n")
        apply(world, world.plan((2, "[1, 5, 2]")), "--confirm", LONG)
        assert confirm(world, plan)[0] == 0

    in_world("table", tmp_path, check)


def test_the_process_has_no_terminal_and_a_session_of_its_own(tmp_path: Path) -> None:
    def check(world: World) -> None:
        plan = world.plan((2, "[4, 3, 2]"))
        apply(world, plan, "--confirm", LONG)
        process = json.loads(waiting_file(world, plan).read_text())["process"]
        _, _, after = Path(f"/proc/{process}/stat").read_text().rpartition(") ")
        _, parent, _, session, terminal, *_ = after.split()
        assert int(terminal) == 0
        assert int(session) != os.getsid(0)
        assert int(parent) != os.getpid()
        os.kill(process, signal.SIGHUP)
        assert confirm(world, plan)[0] == 0

    in_world("table", tmp_path, check)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--confirm", "soon"], "confirm: soon: not a duration up to a week; write it as in 60s, 5min or 1h"),
        (["--confirm", "0s"], "confirm: 0s: not a duration"),
        (["--confirm", "8000h"], "confirm: 8000h: not a duration"),
        (["--confirm", "60s", "--dry-run"], "confirm: with --follow or --dry-run"),
    ],
)
def test_bad_durations_are_named(options: list[str], message: str, tmp_path: Path) -> None:
    def check(world: World) -> None:
        before = world.state()
        done = anabranch("apply", str(world.plan((2, "[4, 3, 2]"))), "--target", "table", *world.flags, *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
        assert world.state() == before

    in_world("table", tmp_path, check)


def test_a_plan_without_a_change_has_nothing_to_confirm(tmp_path: Path) -> None:
    def check(world: World) -> None:
        plan = world.plan((2, "[4, 3, 2]"))
        world.apply(plan)
        assert "goes back" not in apply(world, plan, "--confirm", LONG)
        assert confirm(world, plan)[0] == 1

    in_world("table", tmp_path, check)


def test_every_target_can_go_back_or_says_why_not() -> None:
    assert [name for name in TARGETS if "restore" in target(name).descriptor.lacks] == []
