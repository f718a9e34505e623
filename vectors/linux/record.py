#!/usr/bin/env python3
"""Records how Linux's CUBIC fills one bottleneck: `cubic-BUFFER.csv`, and `runs.csv`, a row per file.

    sudo vectors/linux/record.py [--seconds 30]

Root, iproute2, a kernel with tbf, TUN and network namespaces; on a machine that does other things, by `chrt -f 50`.
Exit status 77 where something is missing, with the reason.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import subprocess
import sys
import threading
from pathlib import Path

from bottleneck import FRAME_BYTES, SERVER, Bottleneck, MissingError, namespaces

HERE = Path(__file__).resolve().parent
PORT = 5001
EXIT_SKIP = 77
# 50 Mbit/s and 20 ms are 82 frames; a buffer of half of that, of that, and of twice that.
CASES = tuple(Bottleneck(50_000_000, 20_000, frames * FRAME_BYTES) for frames in (40, 80, 160))


def sent(client: list[str], server: list[str], limit_s: float, verb: str, *arguments: str) -> str:
    """Output of the sender in one namespace, while the other receives; neither takes longer than the limit."""
    ends = [sys.executable, str(HERE / "endpoints.py")]
    for enter, name, value in ((server, "tcp_rmem", "4096 8388608 33554432"), (client, "tcp_no_metrics_save", "1")):
        subprocess.run([*enter, "sh", "-c", f"echo {value} > /proc/sys/net/ipv4/{name}"], check=True, timeout=60)
    receive = [*server, *ends, "serve", SERVER, str(PORT)]
    with subprocess.Popen(receive, stdout=subprocess.PIPE, text=True) as receiver:
        limit = threading.Timer(limit_s, receiver.kill)
        limit.start()
        try:
            assert receiver.stdout is not None
            if receiver.stdout.readline().strip() != "ready":
                raise MissingError("the receiver did not start")
            command = [*client, *ends, verb, SERVER, str(PORT), *arguments]
            return subprocess.run(command, check=True, capture_output=True, text=True, timeout=limit_s).stdout
        finally:
            limit.cancel()
            receiver.kill()


def samples(bottleneck: Bottleneck, seconds: float) -> tuple[list[str], int]:
    """The sender's lines, and how many frames the bottleneck dropped."""
    with namespaces(bottleneck) as (client, router, server):
        said = sent(client, server, 2 * seconds + 60, "send", str(seconds))
        queue = json.loads(
            subprocess.run(
                [*router, "tc", "-s", "-j", "qdisc", "show", "dev", "out0"],
                check=True,
                capture_output=True,
                timeout=60,
            ).stdout
        )
    return said.split(), int(queue[0]["drops"])


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    seconds = parser.parse_args().seconds
    rows = []
    for case in CASES:
        try:
            lines, drops = samples(case, seconds)
        except MissingError as missing:
            print(f"record.py: {missing}", file=sys.stderr)
            raise SystemExit(EXIT_SKIP) from None
        name = f"cubic-{case.buffer_bytes // FRAME_BYTES}.csv"
        header = "ms,window_segments,threshold_segments,rtt_us,acked_bytes"
        (HERE / name).write_text("\n".join([header, *lines, ""]))
        last = lines[-1].split(",")
        goodput_bps = int(last[4]) * 8000 // int(last[0])
        rows.append([name, case.rate_bps, case.delay_us, case.buffer_bytes, platform.release(), goodput_bps, drops])
        print(*rows[-1], flush=True)
    with (HERE / "runs.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["file", "rate_bps", "delay_us", "buffer_bytes", "kernel", "goodput_bps", "dropped_packets"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
