"""The controller's pages, over real sockets: what they say, and that bad requests get no further than they should."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import cycle
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from anabranch import AnabranchError
from anabranch.deploy.control.cable import CableState
from anabranch.deploy.control.event import Events
from anabranch.deploy.control.log import Event
from anabranch.deploy.control.pages import server
from anabranch.deploy.control.pages.site import Site
from anabranch.deploy.control.state import (
    PRIMARY,
    SECONDARY,
    GroupState,
    LinkState,
    MemberState,
    NodeState,
    Snapshot,
    SwitchState,
)

PATIENCE_S = 60.0
"""Deadline of what the server must do: no measure of speed, only of never."""
EVIL = "<script>alert('leaf')</script>"


def snapshot(leaves: int = 2, spines: int = 2) -> Snapshot:
    nodes = [NodeState(f"host{index}", "host") for index in range(2 * leaves)]
    nodes += [NodeState(f"leaf{index}", "leaf") for index in range(leaves)]
    nodes += [NodeState(f"spine{index}", "spine") for index in range(spines)]
    gbps = 10**9
    links = [LinkState(f"host{i}", f"leaf{i // 2}", 0, True, "", gbps, (1e8, 2e8), gbps) for i in range(2 * leaves)]
    links += [
        LinkState(f"leaf{leaf}", f"spine{spine}", 0, True, "", gbps, (5e8, None), gbps)
        for leaf in range(leaves)
        for spine in range(spines)
    ]
    switches = [
        SwitchState(node.name, f"unix:{node.name}", True, number, 100.0, "", 0, False, 9, 2, 0, 1, 3, 20, 150.0, 0.002)
        for number, node in enumerate(nodes)
        if node.tier != "host"
    ]
    members = tuple(MemberState(f"spine{spine}", 0, spine + 1, 1, 1 / spines, 1 / spines) for spine in range(spines))
    groups = [
        GroupState(f"leaf{a}", f"leaf{b}", 7, members, 12345) for a in range(leaves) for b in range(leaves) if a != b
    ]
    return Snapshot(
        200.0, 100.0, "capacity", "hash-gravity", 0, tuple(nodes), tuple(switches), tuple(links), tuple(groups),
        1, 150.0, 0.001, 199.0, "",
    )  # fmt: skip


def changed(of: Snapshot, number: int, **values: Any) -> Snapshot:
    """With one switch in another state."""
    switches = list(of.switches)
    switches[number] = replace(switches[number], **values)
    return replace(of, switches=tuple(switches))


@asynccontextmanager
async def site(
    of: Snapshot, last: tuple[Event, ...] = (), events: Events | None = None
) -> AsyncIterator[tuple[str, int]]:
    made = Site(lambda: of, events or Events(), lambda: last)
    await made.start("127.0.0.1:0")
    try:
        yield made.address
    finally:
        await made.close()


async def get(address: tuple[str, int], path: str, method: str = "GET", **headers: str) -> tuple[int, str, Any]:
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, f"http://{address[0]}:{address[1]}{path}", headers=headers) as answer,
    ):
        return answer.status, await answer.text(), answer.headers


def ask(of: Snapshot, path: str, last: tuple[Event, ...] = (), **more: str) -> tuple[int, str, Any]:
    async def asked() -> tuple[int, str, Any]:
        async with site(of, last) as address:
            return await get(address, path, **more)

    return asyncio.run(asked())


def test_health_is_good_only_when_all_is_as_planned() -> None:
    status, body, _ = ask(snapshot(), "/healthz")
    assert (status, json.loads(body)) == (200, {"converged": True, "role": "", "reasons": []})
    for values, reason in (
        ({"connected": False, "last_error": "refused"}, "not connected: refused"),
        ({"connected": False, "changed_s": 0.0}, "not connected yet"),
        ({"connected": False, "lost_s": 197.0}, "lost 3.00 s ago"),
        ({"connected": False, "lost_s": 80.0, "last_error": "silent"}, "lost 2 min 0 s ago: silent"),
        ({"differences": 3}, "3 changes to come"),
        ({"differences": 2, "refused": True, "last_error": "bad weight"}, "refused 2 changes: bad weight"),
    ):
        status, body, _ = ask(changed(snapshot(), 1, **values), "/healthz")
        assert (status, json.loads(body)["reasons"]) == (503, [{"switch": "leaf1", "reason": reason}])
    failed = replace(snapshot(), handshake_failed_s=198.0, handshake_error="ssl:10.0.0.9:4711: TLS: expired")
    for address, lost_s, reason in (
        ("", 0.0, "not connected yet; 2.00 s ago a handshake failed: ssl:10.0.0.9:4711: TLS: expired"),
        ("", 199.0, "lost 1.00 s ago"),
        ("unix:leaf1", 0.0, "not connected yet"),
    ):
        _, body, _ = ask(changed(failed, 1, connected=False, address=address, lost_s=lost_s), "/healthz")
        assert json.loads(body)["reasons"] == [{"switch": "leaf1", "reason": reason}]
    status, body, _ = ask(replace(snapshot(), unplanned=True), "/healthz")
    assert (status, [one["switch"] for one in json.loads(body)["reasons"]]) == (503, ["controller"])


def test_a_secondary_is_well_when_it_could_go_on_and_says_that_it_is_none_of_the_primaries() -> None:
    def of(*given: str, connected: bool = True) -> Snapshot:
        roles = cycle(given)
        switches = [replace(one, role=next(roles), differences=3, connected=connected) for one in snapshot().switches]
        return replace(snapshot(), switches=tuple(switches))

    for seen, status, role in (
        (of(SECONDARY), 200, "secondary"),
        (of(SECONDARY, connected=False), 503, "secondary"),
        (of(PRIMARY, SECONDARY), 503, "split"),
        (of(PRIMARY), 503, "primary"),
    ):
        answered, body, _ = ask(seen, "/healthz")
        health = json.loads(body)
        assert (answered, health["converged"], health["role"]) == (status, False, role)
    assert "another controller is its primary; this one changes nothing" in ask(of(SECONDARY), "/healthz")[1]
    assert "stands by: another controller is primary" in ask(of(SECONDARY), "/")[1]
    for seen, value in ((of(PRIMARY), 1.0), (of(SECONDARY), 0.0), (snapshot(), 1.0)):
        assert f'anabranch_switch_primary{{switch="leaf1"}} {value}' in ask(seen, "/metrics")[1]


def test_a_cable_that_leads_elsewhere_is_on_every_page() -> None:
    def cable(verdict: str, text: str = "") -> CableState:
        return CableState("leaf0", "eth1", "spine0", 0, "eth0", verdict, text)

    good, bad = ("right", "down", "unchecked"), ("waiting", "unheard", "losing")
    for verdict, ok in (*((one, True) for one in good), *((one, False) for one in bad)):
        status, body, _ = ask(replace(snapshot(), cables=(cable(verdict, "why"),)), "/healthz")
        reasons = [] if ok else [{"switch": "leaf0", "reason": "why"}]
        assert (status, json.loads(body)["reasons"]) == (200 if ok else 503, reasons)
    wrong = replace(snapshot(), cables=(cable("miswired", f"is wired to {EVIL}"),))
    status, body, _ = ask(wrong, "/")
    assert "<script" not in body
    assert "is wired to &lt;script&gt;" in body
    for metric in ("anabranch_link_miswired", "anabranch_link_unheard", "anabranch_link_losing"):
        line = f'{metric}{{neighbour="spine0",parallel="0",switch="leaf0"}} '
        assert line + ("1.0" if metric.endswith("miswired") else "0.0") in ask(wrong, "/metrics")[1]
    assert "anabranch_link_miswired{" not in ask(replace(wrong, cables=(cable("unchecked"),)), "/metrics")[1]
    assert json.loads(ask(wrong, "/status.json")[1])["cables"][0]["verdict"] == "miswired"


def test_metrics_are_what_prometheus_reads() -> None:
    async def asked() -> str:
        events = Events()
        async with site(changed(snapshot(), 0, connected=False), events=events) as address:
            events.report("committed", "leaf0", duration_s=0.003, lag_s=0.03)
            events.report("committed", "leaf0", duration_s=0.003)
            events.report("stranger", EVIL)
            await asyncio.sleep(0.3)
            return (await get(address, "/metrics"))[1]

    logging.getLogger("anabranch.deploy.control").setLevel(logging.CRITICAL)
    found: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for family in text_string_to_metric_families(asyncio.run(asked())):
        found |= {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in family.samples}
    leaf0 = (("switch", "leaf0"),)
    assert found["anabranch_switch_connected", leaf0] == 0
    assert found["anabranch_switch_connected", (("switch", "leaf1"),)] == 1
    assert found["anabranch_switch_changes_total", leaf0] == 20
    assert found["anabranch_commit_seconds_count", leaf0] == 2
    assert found["anabranch_port_event_to_commit_seconds_count", leaf0] == 1
    assert found["anabranch_port_event_to_commit_seconds_bucket", (("le", "0.02"), *leaf0)] == 0
    assert found["anabranch_port_event_to_commit_seconds_bucket", (("le", "0.05"), *leaf0)] == 1
    # A name that a stranger gave itself is no label.
    assert found["anabranch_events_total", (("kind", "stranger"), ("switch", ""))] == 1
    assert found["anabranch_link_load_bps", (("from", "leaf0"), ("parallel", "0"), ("to", "spine1"))] == 5e8
    assert ("anabranch_link_load_bps", (("from", "spine1"), ("parallel", "0"), ("to", "leaf0"))) not in found
    member = (("leaf", "leaf1"), ("neighbour", "spine0"), ("parallel", "0"), ("switch", "leaf0"))
    assert found["anabranch_member_weight", member] == 1
    assert found["anabranch_member_measured_share", member] == 0.5
    assert found["anabranch_loop_lag_seconds_count", ()] >= 1


def test_the_page_tells_all_and_escapes_it() -> None:
    told = Event(150.0, "warning", "lost", "leaf0", {"reason": EVIL})
    status, body, headers = ask(changed(snapshot(), 0, connected=False, last_error=EVIL), "/", (told,))
    assert status == 200
    assert "not converged" in body
    assert "<script" not in body
    assert body.count("&lt;script&gt;") >= 3
    assert body.count('class="box down"') == 1
    assert body.count('class="box ok"') == 3
    # Nothing within the page may carry style or script of its own, and nothing comes from elsewhere.
    assert "style=" not in body
    assert "<style" not in body
    assert "http:" not in body
    assert "https:" not in body
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'")
    assert headers["Cache-Control"] == "no-store"
    assert ask(snapshot(), "/page.css")[2]["Content-Type"].startswith("text/css")


def test_dead_and_slow_links_are_marked_and_listed() -> None:
    of = snapshot()
    links = list(of.links)
    links[4] = replace(links[4], up=False, reason="leaf0: port down")
    links[5] = replace(links[5], rate_bps=250_000_000)
    body = ask(replace(of, links=tuple(links)), "/")[1]
    assert body.count('class="cross"') == 1
    assert "leaf0: port down" in body
    assert body.count("250 Mbps") >= 2


def test_the_state_as_json_is_whole() -> None:
    of = snapshot()
    found = json.loads(ask(of, "/status.json")[1])
    assert found["converged"] is True
    assert [switch["name"] for switch in found["switches"]] == [switch.name for switch in of.switches]
    assert found["groups"][0]["members"][1]["wanted_share"] == 0.5


def test_a_large_fabric_has_a_page_of_bounded_size() -> None:
    of = snapshot(64, 8)
    body = ask(of, "/")[1]
    assert "and 3832 more, nearer to the plan" in body
    assert len(body) < 1_500_000
    assert len(json.loads(ask(of, "/status.json")[1])["groups"]) == 64 * 63


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"])
def test_only_get(method: str) -> None:
    status, _, headers = ask(snapshot(), "/", method=method)
    assert (status, headers["Allow"]) == (405, "GET")


def test_other_paths_and_other_names_of_this_machine_are_refused() -> None:
    assert ask(snapshot(), "/../../etc/passwd")[0] == 404
    assert ask(snapshot(), "/status.json", Host="attacker.example")[0] == 403
    for host in ("localhost:9653", "127.0.0.1", "[::1]:9653", "[::1]"):
        assert ask(snapshot(), "/status.json", Host=host)[0] == 200


@pytest.mark.parametrize("address", ["9653", "127.0.0.1:http", "127.0.0.1:70000", "nowhere.invalid:1"])
def test_a_bad_address_is_refused(address: str) -> None:
    async def start() -> None:
        await server.Pages({}).start(address)

    with pytest.raises(AnabranchError, match=r"listen\.http"):
        asyncio.run(start())


Writer = asyncio.StreamWriter
Talk = Callable[[asyncio.StreamReader, Writer], Coroutine[Any, Any, None]]


async def _garbage(_: asyncio.StreamReader, writer: Writer) -> None:
    writer.write(bytes(range(256)) * 300)
    await writer.drain()


async def _endless_headers(_: asyncio.StreamReader, writer: Writer) -> None:
    writer.write(b"GET / HTTP/1.1\r\n")
    for number in range(100_000):
        writer.write(b"X-%d: %s\r\n" % (number, b"x" * 1000))
        await writer.drain()


async def _endless_line(_: asyncio.StreamReader, writer: Writer) -> None:
    writer.write(b"GET /")
    for _number in range(1000):
        writer.write(b"a" * 65536)
        await writer.drain()


async def _endless_body(_: asyncio.StreamReader, writer: Writer) -> None:
    writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000000\r\n\r\n")
    for _number in range(1000):
        writer.write(b"a" * 65536)
        await writer.drain()


async def _one_letter(reader: asyncio.StreamReader, writer: Writer) -> None:
    writer.write(b"G")
    await reader.read()


async def _talked(address: tuple[str, int], talk: Talk) -> None:
    """Until the server has enough."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        await talk(reader, writer)
        while await reader.read(65536):
            pass
    except OSError:
        pass
    finally:
        writer.close()


@pytest.mark.parametrize("talk", [_garbage, _endless_headers, _endless_line, _endless_body])
def test_bad_talk_ends_and_others_are_served(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    # Before the time of any connection is over.
    monkeypatch.setattr(server, "LIFETIME_S", 2 * PATIENCE_S)
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)

    async def tried() -> None:
        async with site(snapshot()) as address:
            bad = [asyncio.create_task(_talked(address, talk)) for _ in range(8)]
            for _ in range(5):
                assert (await get(address, "/healthz"))[0] == 200
            await asyncio.wait_for(asyncio.gather(*bad), PATIENCE_S)

    asyncio.run(tried())


def test_who_sends_a_letter_and_no_more_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LIFETIME_S", 0.5)

    async def tried() -> None:
        async with site(snapshot()) as address:
            bad = [asyncio.create_task(_talked(address, _one_letter)) for _ in range(8)]
            await asyncio.wait_for(asyncio.gather(*bad), PATIENCE_S)
            monkeypatch.setattr(server, "LIFETIME_S", PATIENCE_S)
            assert (await get(address, "/healthz"))[0] == 200

    asyncio.run(tried())


def test_a_flood_of_connections_is_cut_and_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LIFETIME_S", 2 * PATIENCE_S)

    async def flooded() -> None:
        async with site(snapshot()) as address:
            opened = [await asyncio.open_connection(*address) for _ in range(3 * server.CONNECTIONS_MAX)]
            ends = [asyncio.ensure_future(_ended(reader)) for reader, _ in opened]
            # Of one address the oldest make room for the newest.
            for end in ends[: -server.SOURCE_CONNECTIONS_MAX]:
                assert await asyncio.wait_for(end, PATIENCE_S)
            assert not any(end.done() for end in ends[-server.SOURCE_CONNECTIONS_MAX :])
            for _, writer in opened:
                writer.close()
            await asyncio.gather(*ends)
            assert (await get(address, "/healthz"))[0] == 200

    asyncio.run(flooded())


REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_an_answer_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LIFETIME_S", 2 * PATIENCE_S)

    async def asked(request: bytes) -> bytes:
        async with site(snapshot()) as address:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(request)
            # Until the end: HTTP/1.1 keeps a connection unless one of both says and does otherwise.
            answer = await asyncio.wait_for(reader.read(), PATIENCE_S)
            writer.close()
            return answer

    for request, status in (
        (REQUEST, b" 200 "),
        (REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: keep-alive\r\n\r\n"), b" 200 "),
        (REQUEST.replace(b"GET", b"PUT"), b" 405 "),
        (REQUEST.replace(b"/healthz", b"/none"), b" 404 "),
        (REQUEST.replace(b"localhost", b"attacker.example"), b" 403 "),
    ):
        head, _, body = asyncio.run(asked(request)).partition(b"\r\n\r\n")
        assert status in head.splitlines()[0]
        assert b"connection: close" in head.lower()
        assert body


async def _opened(address: tuple[str, int], source: str, number: int, sent: bytes) -> list[Writer]:
    """Connections of an address of this machine, which send that much and then nothing; they end with the writers."""
    found = []
    for _ in range(number):
        _, writer = await asyncio.open_connection(*address, local_addr=(source, 0))
        writer.write(sent)
        found.append(writer)
    return found


def _close(writers: list[Writer]) -> None:
    for writer in writers:
        writer.close()


def test_slow_clients_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LIFETIME_S", 4 * PATIENCE_S)

    async def tried() -> None:
        async with site(snapshot()) as address:
            for sent in (b"G", REQUEST[:-2], b""):
                slow = await _opened(address, "127.0.0.1", 200, sent)
                # From the same address, and while they all are there still.
                for _ in range(3):
                    assert (await asyncio.wait_for(get(address, "/healthz"), PATIENCE_S))[0] == 200
                _close(slow)

    asyncio.run(tried())


def test_one_address_does_not_push_out_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LIFETIME_S", 4 * PATIENCE_S)

    async def tried() -> None:
        async with site(snapshot()) as address:
            reader, writer = await asyncio.open_connection(*address, local_addr=("127.0.0.2", 0))
            others = [await _opened(address, f"127.0.0.{number}", 100, b"G") for number in range(3, 9)]
            writer.write(REQUEST)
            assert b" 200 " in await asyncio.wait_for(reader.read(), PATIENCE_S)
            _close([writer, *(each for of_one in others for each in of_one)])

    asyncio.run(tried())


def test_who_has_asked_is_not_pushed_out_by_who_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LIFETIME_S", 4 * PATIENCE_S)
    making, go_on = threading.Event(), threading.Event()

    def slow_page() -> server.Answer:
        making.set()
        go_on.wait(PATIENCE_S)
        return 200, "text/plain", b"made"

    async def tried() -> None:
        pages = server.Pages({"/slow": slow_page})
        await pages.start("127.0.0.1:0")
        reader, writer = await asyncio.open_connection(*pages.address)
        writer.write(REQUEST.replace(b"/healthz", b"/slow"))
        await asyncio.to_thread(making.wait, PATIENCE_S)
        others = await _opened(pages.address, "127.0.0.1", 3 * server.SOURCE_CONNECTIONS_MAX, b"G")
        go_on.set()
        assert (await asyncio.wait_for(reader.read(), PATIENCE_S)).endswith(b"made")
        _close([writer, *others])
        await pages.close()

    asyncio.run(tried())


async def _ended(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True
