"""A Linux kernel behind an agent as the controller keeps it: links, ends of both, certificates, and who may connect."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from anabranch.deploy.control.state import Snapshot, SwitchState
from anabranch.deploy.targets.linux.agent.hello import Hello
from anabranch.deploy.targets.linux.session.agent_connection import connect
from anabranch.deploy.targets.linux.session.routing_kernel import UnreachableError
from support.certificates import make_certificates
from support.dummy_fabric import Running, members
from support.linux_agent import agent, manage
from support.own_namespace import in_own_namespace
from support.routed_fabric import RoutedFabric, routed_fabric
from support.waiting import wait

ONE, OTHER = "10.1.1.0/24", "fd00:1:1::/64"
"""Prefixes behind leaf1."""
BOTH = {"leaf0-spine0": 1, "leaf0-spine1": 1}


def split(fabric: RoutedFabric) -> dict[str, int]:
    """Weights by which leaf0 sends to leaf1: alike in both IP versions, or in the midst of a change."""
    four, six = (fabric.split("leaf0", prefix) for prefix in (ONE, OTHER))
    return four if four == six else {}


def leaf0(snapshot: Snapshot) -> SwitchState:
    return next(switch for switch in snapshot.switches if switch.name == "leaf0")


def reasons(snapshot: Snapshot) -> set[str]:
    return {link.reason for link in snapshot.links} - {""}


@in_own_namespace
def test_a_remote_leaf_is_followed_over_tls_and_nothing_changes_without_its_agent(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    tls = certificates["controller"]
    with routed_fabric() as fabric:
        # No reading of counters helps: what comes is announced.
        fabric.settings = fabric.settings.replace("[measure]", '[measure]\ninterval = "3600 s"')
        fabric.settings += "[tls]\n" + "\n".join(f'{name} = "{path}"' for name, path in vars(tls).items()) + "\n"
        manage(fabric, "leaf0")
        with agent(fabric, "leaf0", tmp_path, tls=certificates["switch"]) as process:

            async def follow() -> None:
                async with Running(fabric.file()) as running:
                    await running.converged()
                    assert split(fabric) == BOTH
                    assert await asyncio.to_thread(fabric.arrived, 50) == 50
                    # The other end of a link of the remote leaf goes down and up.
                    fabric.link("spine0-leaf0", up=False)
                    await running.until(lambda one: members(one, "leaf0", "leaf1") == {"spine1": 1})
                    await running.converged()
                    assert split(fabric) == {"leaf0-spine1": 1}
                    before = leaf0(running.controller.snapshot()).changes
                    fabric.link("spine0-leaf0", up=True)
                    await running.until(lambda one: members(one, "leaf0", "leaf1") == {"spine0": 1, "spine1": 1})
                    snapshot = await running.converged()
                    assert split(fabric) == BOTH
                    # A nexthop and a member for each IP version.
                    assert leaf0(snapshot).changes - before == 4
                    assert (snapshot.events["drifted"], snapshot.events["refused"]) == (0, 0)
                    await without_agent(running)
                    await stranger(running)

            async def without_agent(running: Running) -> None:
                state = fabric.state("leaf0")
                process.kill()
                snapshot = await running.until(lambda one: not leaf0(one).connected and bool(leaf0(one).last_error))
                assert leaf0(snapshot).last_error.startswith("agent ssl:192.0.2.2:6655: ")
                # It forwards as it did, and counts as one that does.
                assert fabric.state("leaf0") == state
                assert members(snapshot, "leaf1", "leaf0") == {"spine0": 1, "spine1": 1}
                assert not reasons(snapshot)
                assert await asyncio.to_thread(fabric.arrived, 50) == 50
                # A link that is lost meanwhile is known by its other end, and put in force when the agent is back.
                fabric.link("leaf0-spine0", up=False)
                await running.until(lambda one: members(one, "leaf1", "leaf0") == {"spine1": 1})
                fabric.link("leaf0-spine0", up=True)
                await running.until(lambda one: members(one, "leaf1", "leaf0") == {"spine0": 1, "spine1": 1})
                assert split(fabric) == {"leaf0-spine1": 1}
                await asyncio.to_thread(process.start)
                await running.until(lambda one: one.converged and leaf0(one).connects == 2)
                assert split(fabric) == BOTH

            async def stranger(running: Running) -> None:
                state = fabric.state("leaf0")
                process.kill()
                process.tls = certificates["stranger"]
                await asyncio.to_thread(process.start)
                snapshot = await running.until(lambda one: "certificate" in leaf0(one).last_error)
                assert not leaf0(snapshot).connected
                assert "TLS: its certificate is refused" in leaf0(snapshot).last_error
                await asyncio.to_thread(wait, lambda: "TLS: it closed the connection" in process.said(), process.said)
                assert fabric.state("leaf0") == state
                process.kill()
                process.tls = certificates["switch"]
                await asyncio.to_thread(process.start)
                before = leaf0(snapshot).changes
                snapshot = await running.until(lambda one: one.converged and leaf0(one).connects == 3)
                assert leaf0(snapshot).changes == before
                # The agent refuses a controller that another authority vouches for.
                mixed = replace(certificates["stranger"], authority=tls.authority)
                with pytest.raises(UnreachableError, match=r"refuses our certificate|does its authority vouch for us"):
                    await connect("ssl:192.0.2.2:6655", mixed, Hello(0, (), frozenset()))
                await asyncio.to_thread(wait, lambda: "its certificate is refused" in process.said(), process.said)

            async def again() -> None:
                state = fabric.state("leaf0")
                async with Running(fabric.file()) as running:
                    snapshot = await running.converged()
                    assert [switch.changes for switch in snapshot.switches] == [0] * 4
                assert fabric.state("leaf0") == state

            asyncio.run(follow())
            asyncio.run(again())
            state = fabric.state("leaf0")
            process.signal(signal.SIGTERM)
            assert process.ended() == 0
            assert fabric.state("leaf0") == state
