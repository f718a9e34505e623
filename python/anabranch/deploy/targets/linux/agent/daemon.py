"""The agent as a process: listens for controllers, and serves each, until a signal ends it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

from anabranch.deploy.openflow.address import SSL, TCP, UNIX, Address, is_loopback, parse_address
from anabranch.deploy.openflow.listener import Arrival, Introduction, Listener, listen
from anabranch.deploy.openflow.tls import Peer, Tls, context_for
from anabranch.deploy.service import notification
from anabranch.deploy.service.needs import INTERNET, NETLINK, Needs
from anabranch.deploy.targets.linux.agent.framing import PORT, MessageStream
from anabranch.deploy.targets.linux.agent.service import Guest, Service, introduce
from anabranch.files.errors import AnabranchError, unavailable

TIMEOUT_S = 5.0
"""Time in which a controller must have introduced itself."""
GUESTS_MAX = 8
"""Controllers at a time."""
CONTROLLER = Peer(
    "does a controller call, and by TLS?",
    "give [tls] in its fabric file",
    'give agent = "ssl:HOST:PORT" in its fabric file',
    "--authority",
)


def _begin(timeout_s: float, peer: str) -> Arrival[Guest]:
    del timeout_s
    stream = MessageStream(peer)
    return Arrival(stream, lambda: introduce(stream), stream.close)


CONTROLLERS = Introduction(_begin, "does a controller call?", CONTROLLER)


def check(address: str, tls: Tls | None) -> Address:
    """Checks an address and its certificates, and that nobody else can change the routes.

    Raises:
        AnabranchError: no address, `tcp:` at another address than loopback, `ssl:` without certificates that fit
            together, or certificates that are not used.

    """
    where = parse_address(address, PORT)
    if where.kind == TCP and not is_loopback(where.host):
        problem = "without TLS at loopback only, for who connects can change routes"
        raise AnabranchError(f"address: {where}: {problem}; take {SSL}:{where.host}:{where.port}")
    if where.kind != SSL and tls is not None:
        problem = "uses no key, certificate and authority"
        raise AnabranchError(f"address: {where}: {problem}; leave them out, or take {SSL}:HOST:PORT")
    context_for(where, tls, server=True)
    return where


def needs(address: str, tls: Tls | None) -> Needs:
    """What an agent at this address takes as a service.

    Raises:
        AnabranchError: as `check`.

    """
    where = check(address, tls)
    return NETLINK | (Needs(writes=frozenset({str(Path(where.host).parent)})) if where.kind == UNIX else INTERNET)


async def run(address: str, tls: Tls | None, say: Callable[[str], None]) -> None:
    """Serves controllers until SIGTERM or SIGINT; the routes stay as they are. See `serve`.

    Raises:
        AnabranchError: as `check`.
        UnavailableError: the address cannot be listened at.

    """
    check(address, tls)
    with unavailable():
        listener = await serve(address, tls, say)
    notification.report_ready()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        await ended.wait()
    finally:
        listener.close()
        await listener.wait_closed()
    say("ended; the routes stay")


async def serve(address: str, tls: Tls | None, say: Callable[[str], None]) -> Listener[Guest]:
    """Serves controllers until the listener is closed.

    Args:
        address: where to listen: `ssl:HOST:PORT`, `unix:PATH`, or `tcp:` at loopback.
        tls: certificates for `ssl:`.
        say: what is printed.

    Raises:
        AnabranchError: as `check`, or the address cannot be listened at.

    """
    where = check(address, tls)
    if where.kind == TCP:
        say(f"warning: {where}: every user of this machine can change the routes of anabranch; take unix:PATH or ssl:")
    changing = asyncio.Lock()
    guests: set[object] = set()
    last = ""

    async def attend(guest: Guest) -> None:
        peer = guest.stream.peer
        if len(guests) >= GUESTS_MAX:
            guest.stream.post({"error": f"{GUESTS_MAX} controllers are connected; end one"})
            failed(peer, AnabranchError(f"refused, for {GUESTS_MAX} controllers are connected"))
            return
        guests.add(guest)
        say(f"{peer}: a controller follows owner {guest.hello.owner}")
        try:
            await Service(guest, changing).run()
        except AnabranchError as error:
            say(f"{peer}: the controller has gone: {error}; the routes stay")
        finally:
            guests.discard(guest)

    def failed(peer: str, error: AnabranchError) -> None:
        nonlocal last
        source = peer if where.kind == UNIX else peer.rpartition(":")[0]
        text = f"{source}: {error}"
        if text != last:
            last = text
            say(text)

    listener = await listen(str(where), CONTROLLERS, attend, tls, TIMEOUT_S, failed)
    say(f"listening at {where}")
    return listener
