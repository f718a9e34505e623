"""Tables of the controller's datapaths over reboots: `state` of a switch keeps them in a file."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

import pytest

import anabranch as ab
from anabranch import AnabranchError, _core
from anabranch.deploy.control import file
from anabranch.deploy.control.state import Snapshot
from anabranch.deploy.targets.ebpf.folder import own_folder
from anabranch.deploy.targets.ebpf.session.switch_kind import KIND
from support.cabled_fabric import CabledFabric, cabled_fabric
from support.dummy_fabric import Running
from support.history_of_weights import RATES, weighs, with_state
from support.own_datapaths import ip, with_own_datapaths


def datapath() -> _core.KernelDatapath:
    opened = _core.KernelDatapath.open(own_folder() / "leaf0")
    assert opened is not None
    return opened


def digest(table: bytes) -> str:
    """What a table picks, now and after each later change."""
    return ab.Splitter.restore(table).revision.digest


@with_own_datapaths
def test_a_datapath_that_is_made_anew_goes_on_from_the_file(tmp_path: Path) -> None:
    state = tmp_path / "leaf0.state"

    async def history(fabric: CabledFabric) -> None:
        async with Running(with_state(fabric.text(), state)) as running:
            await running.converged()
            for rate_bps in RATES:
                ip("link", "set", "a1", "alias", f"anabranch-rate-bps={rate_bps}")
                await running.until(weighs(rate_bps))

    async def unchanged(fabric: CabledFabric) -> None:
        async with Running(with_state(fabric.text(), state)) as running:
            snapshot = await running.converged()
            assert {one.changes for one in snapshot.switches} == {0}

    async def again(fabric: CabledFabric) -> str:
        # The kernel of a machine that was booted has nothing.
        shutil.rmtree(own_folder())
        async with Running(with_state(fabric.text(), state)) as running:
            assert weighs(RATES[-1])(await running.converged())
        return digest(datapath().tables()["leaf1"])

    with cabled_fabric(tmp_path, "ebpf", "ebpf") as fabric:
        asyncio.run(history(fabric))
        known = digest(datapath().tables()["leaf1"])
        assert asyncio.run(again(fabric)) == known
        state.unlink()
        assert asyncio.run(again(fabric)) != known
        # One that stands already is written when the controller begins.
        written = state.read_bytes()
        state.unlink()
        asyncio.run(unchanged(fabric))
        assert state.read_bytes() == written


@with_own_datapaths
def test_a_file_that_cannot_be_stops_that_switch_alone(tmp_path: Path) -> None:
    state = tmp_path / "kept" / "leaf0.state"

    def error(snapshot: Snapshot) -> str:
        """The error that holds leaf0 back, once the others are served."""
        (leaf,) = [one for one in snapshot.switches if one.name == "leaf0"]
        served = all(one.connected for one in snapshot.switches if one is not leaf)
        return leaf.last_error if served else ""

    async def run(fabric: CabledFabric) -> None:
        async with Running(with_state(fabric.text(), state)) as running:
            snapshot = await running.until(lambda found: "there is no directory" in error(found))
            assert not snapshot.converged
            assert _core.KernelDatapath.open(own_folder() / "leaf0") is None
            state.parent.mkdir()
            state.write_text("{}")
            await running.until(lambda found: "not the state of a datapath" in error(found))
            state.unlink()
            await running.converged()

    with cabled_fabric(tmp_path, "ebpf", "ebpf") as fabric:
        asyncio.run(run(fabric))
    assert state.exists()


def test_a_service_may_write_where_tables_are_kept() -> None:
    fabric = CabledFabric(Path(), dict.fromkeys(("leaf0", "leaf1", "spine0", "spine1"), "ebpf"))
    without, kept = (
        file.parse(fabric.text(), "fabric.toml"),
        with_state(fabric.text(), Path("/var/lib/tables/leaf0.state")),
    )
    assert KIND.needs(kept).writes - KIND.needs(without).writes == {"/var/lib/tables"}


def test_two_switches_have_no_file_in_common() -> None:
    fabric = CabledFabric(Path(), dict.fromkeys(("leaf0", "leaf1", "spine0", "spine1"), "ebpf"))
    text = re.sub(r"\[switch\.(leaf\d)\]", r'[switch.\1]\nstate = "one.state"', fabric.text())
    with pytest.raises(AnabranchError, match=r"switch.leaf1.state: one.state: leaf0 has it; each has its own"):
        file.parse(text, "fabric.toml")
