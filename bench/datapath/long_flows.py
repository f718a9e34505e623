"""Long flows: iperf3 between two hosts."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.deploy.netlink.namespace import file_of
from anabranch.files.errors import AnabranchError
from anabranch.lab.traffic.play import Endpoint

PORT = 5201
START_TIMEOUT_S = 20.0
OVERTIME_S = 20.0
"""How much longer than asked a measurement may take before it counts as hung."""


@dataclass(frozen=True)
class LongFlows:
    """Results of iperf3 for parallel connections from one host to another."""

    goodput_bps: float
    """Payload that arrived at the receiver, over the time it took: all connections together."""
    each_bps: tuple[float, ...]
    """Goodput of each connection."""
    intervals_bps: tuple[float, ...]
    """Sent in each interval, all connections together."""
    retransmitted_packets: int
    rtt_mean_us: float
    """Mean over connections of what the sender's kernel measured."""


def long_flows(
    source: Endpoint,
    target: Endpoint,
    duration_s: int,
    *,
    streams: int = 1,
    congestion_control: str = "cubic",
    interval_s: float = 1.0,
) -> LongFlows:
    """Sends as fast as TCP goes.

    Args:
        source: Who sends.
        target: Who receives.
        duration_s: For how long.
        streams: Connections side by side.
        congestion_control: Of the sender.
        interval_s: Between two reports.

    Raises:
        AnabranchError: iperf3 is missing, or cannot do it.

    """
    if shutil.which("iperf3") is None:
        raise AnabranchError("iperf3: not on the PATH; apt install iperf3")
    listen = _command(target, "--server", "--one-off", "--bind", target.address, "--forceflush")
    with subprocess.Popen(listen, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            _await_listening(server)
            asked = ("--client", target.address, "--bind", source.address, "--json", "--time", str(duration_s))
            how = ("--parallel", str(streams), "--congestion", congestion_control, "--interval", f"{interval_s:g}")
            return _result(_run(_command(source, *asked, *how), duration_s + OVERTIME_S))
        finally:
            server.kill()


def _command(host: Endpoint, *arguments: str) -> list[str]:
    return ["nsenter", f"--net={file_of(host.namespace)}", "--", "iperf3", "--port", str(PORT), *arguments]


def _await_listening(server: subprocess.Popen[str]) -> None:
    """iperf3 says so; asking by connecting would be the one connection that it takes."""
    assert server.stdout is not None
    lines = []
    limit = threading.Timer(START_TIMEOUT_S, server.kill)
    limit.start()
    try:
        while line := server.stdout.readline():
            if "listening" in line:
                return
            lines.append(line.strip())
    finally:
        limit.cancel()
    raise AnabranchError(f"iperf3: its server does not start: {' '.join(lines) or 'says nothing'}")


def _run(command: Sequence[str], timeout_s: float) -> dict[str, Any]:
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise AnabranchError(f"iperf3: no end after {timeout_s:g} s; does the fabric forward?") from None
    try:
        document: dict[str, Any] = json.loads(run.stdout)
    except ValueError:
        raise AnabranchError(f"iperf3: {run.stderr.strip() or run.stdout.strip() or run.returncode}") from None
    if "error" in document:
        raise AnabranchError(f"iperf3: {document['error']}")
    return document


def _result(document: dict[str, Any]) -> LongFlows:
    end = document["end"]
    return LongFlows(
        goodput_bps=float(end["sum_received"]["bits_per_second"]),
        each_bps=tuple(float(stream["receiver"]["bits_per_second"]) for stream in end["streams"]),
        intervals_bps=tuple(float(interval["sum"]["bits_per_second"]) for interval in document["intervals"]),
        retransmitted_packets=int(end["sum_sent"]["retransmits"]),
        rtt_mean_us=sum(stream["sender"]["mean_rtt"] for stream in end["streams"]) / len(end["streams"]),
    )
