"""Makes docs/images/control.png: the status page of a real controller over a lab with a slow and a dead link (root)."""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from anabranch import five_tuples
from anabranch.lab.fabric import controller
from anabranch.lab.fabric.topology import Host, Lab
from anabranch.lab.traffic.bursts import frames, send

FABRIC = """[fabric]
kind = "leaf-spine"
leaves = 4
spines = 4
hosts_per_leaf = 2
link = { rate = "40 Mbps" }
uplink = { rate = "10 Mbps" }
"""
PACKETS_PER_S, SECONDS, PAYLOAD = 1800, 14, 1400
WARM_UP_S = 9


def main() -> None:
    """Makes the lab, sends packets between all leaves, takes the picture, and removes the lab."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", default="control.png")
    parser.add_argument("--name", default="picture")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "picture.toml"
        scenario.write_text(FABRIC)
        lab = Lab.up(scenario, asked.name)
        try:
            controller.start(lab)
            lab.set_link("leaf0", "spine0", rate_bps=2_500_000)
            lab.set_link("leaf2", "spine3", up=False)
            hosts = list(lab.hosts.values())
            senders = [
                threading.Thread(target=load, args=(number, hosts), daemon=True) for number in range(0, len(hosts), 2)
            ]
            for sender in senders:
                sender.start()
            time.sleep(WARM_UP_S)
            shoot(f"http://{lab.record.http}/", asked.out, folder)
            for sender in senders:
                sender.join(10 * SECONDS)
        finally:
            lab.down()


def load(number: int, hosts: list[Host]) -> None:
    """Sends packets of random connections from one host to the others' leaves."""
    rng = np.random.default_rng(number)
    source, count = hosts[number], PACKETS_PER_S * SECONDS
    # Leaves send different amounts, as anywhere.
    count = count * (6 - number // 2) // 6
    targets = rng.choice([index for index in range(0, len(hosts), 2) if index != number], count)
    packets = np.empty((count, 0), np.uint8)
    for target in set(targets.tolist()):
        where = np.flatnonzero(targets == target)
        ports = rng.integers(1024, 65536, (2, len(where)))
        tuples = five_tuples([source.address] * len(where), [hosts[target].address] * len(where), "udp", *ports)
        made = frames(tuples, source.mac, hosts[target].mac, PAYLOAD)
        if not packets.size:
            packets = np.empty((count, made.shape[1]), np.uint8)
        packets[where] = made
    send(source.namespace, source.interface, packets, count / SECONDS)


def shoot(url: str, out: str, folder: str) -> None:
    """Has chromium draw a page into a file."""
    quiet = "--disable-gpu --no-first-run --disable-background-networking --disable-component-update --disable-sync"
    command = ["chromium", "--headless", "--no-sandbox", *quiet.split(), "--disable-quic", "--hide-scrollbars"]
    command += [f"--user-data-dir={folder}/chromium", f"--screenshot={out}", "--window-size=1240,1610", url]
    subprocess.run(command, check=True, capture_output=True, timeout=300)


if __name__ == "__main__":
    main()
