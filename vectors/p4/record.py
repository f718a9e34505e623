#!/usr/bin/env python3
"""Compile the program of `anabranch plan --target p4` by p4c and run it in bmv2, the reference switch of P4.

Writes, beside this file,

* turns.p4info.txtpb: the P4Info that the compiler makes of the program;
* paths.csv: the switches that each packet went through, from leaf to leaf, in fabrics of `tests/support/two_stages.py`;
* recorded.json: SHA-256 of the program and of each switch's entries.

bmv2 runs one switch at a time, from capture files to capture files: what leaves a port is what the neighbour is given.
Entries are read by the compiler's P4Info, not by ours, and put into bmv2's configuration as if the program had them.

Usage: python3 record.py P4C_BM2_SS P4INCLUDE SIMPLE_SWITCH [COMMAND ...], in the project's environment; COMMAND goes
before the two programs, if they are to run elsewhere (`chroot`, for instance), and sees files below TMPDIR alone.
"""

from __future__ import annotations

import csv
import hashlib
import json
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from finsy import P4Schema
from finsy.p4entity import decode_entity
from finsy.proto import p4r
from google.protobuf import text_format

from anabranch.deploy.targets.p4.files import ENTRIES, PROGRAMS, RECORD, write

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))
from support.two_stages import FABRICS, frame, with_addresses  # noqa: E402 (it is no package of the project)

P4INFO = "turns.p4info.txt"
"""The compiler knows the format by the suffix."""
IDLE_S = 3.0
"""Time without a packet after which a switch has sent all."""
ETHERNET = 1
Packets = dict[int, list[bytes]]
"""Frames by port."""


def main() -> None:
    """Records."""
    compiler, include, switch, *command = sys.argv[1:]
    rows, digests = [], {}
    for name, (rates, senders, more) in FABRICS.items():
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made) / "out"
            (Path(made) / "fabric.toml").write_text(with_addresses(rates, more))
            write(Path(made) / "fabric.toml", folder)
            program = folder / PROGRAMS[0].name
            run = [*command, compiler, "-I", include, "--std", "p4-16", "--p4runtime-files", str(folder / P4INFO)]
            subprocess.run([*run, "-o", str(folder / "turns.json"), str(program)], check=True, timeout=600)
            (HERE / PROGRAMS[1].name).write_text((folder / P4INFO).read_text())
            digests[program.name] = digest(program)
            network = Network(folder, [*command, switch])
            digests |= {f"{name}/{at}": digest(folder / at / ENTRIES) for at in network.ports}
            for number, path in enumerate(network.paths(senders), 1):
                rows.append((name, number, senders[number - 1], " ".join(path)))
    with (HERE / "paths.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("fabric", "packet", "from", "path"))
        writer.writerows(rows)
    (HERE / "recorded.json").write_text(json.dumps(digests, indent=2) + "\n")


def digest(file: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


class Network:
    """Switches of a folder, run one after the other in the order in which packets come through."""

    def __init__(self, folder: Path, switch: Sequence[str]) -> None:
        self._folder, self._switch = folder, switch
        self._schema = P4Schema(folder / P4INFO)
        record = json.loads((folder / RECORD).read_text())
        self.ports: dict[str, dict[str, int]] = {one["name"]: one["ports"] for one in record["switches"]}

    def paths(self, senders: Sequence[str]) -> list[list[str]]:
        """The path of each packet to S6, by its number."""
        arrived: dict[str, Packets] = {at: {} for at in self.ports}
        for number, sender in enumerate(senders):
            port = self.ports[sender][f"h{sender[1:]}"]
            arrived[sender].setdefault(port, []).append(frame(sender, "S6", number))
        found: list[list[str]] = [[] for _ in senders]
        for at in ("S1", "S9", "S2", "S3", "S4", "S5", "S6"):
            if not arrived.get(at):
                continue
            for port, frames in self._run(at, arrived[at]).items():
                (neighbour,) = [name for name, own in self.ports[at].items() if own == port]
                for one in frames:
                    found[int.from_bytes(one[-12:], "big")].append(at)
                if neighbour in self.ports:
                    arrived[neighbour].setdefault(self.ports[neighbour][at], []).extend(frames)
        return found

    def _run(self, at: str, arrived: Packets) -> Packets:
        """What leaves the ports of one switch."""
        configured = self._folder / f"{at}.json"
        configured.write_text(json.dumps(self._configuration(at)))
        ports = self.ports[at].values()
        for port in ports:
            write_capture(self._folder / f"{at}-{port}_in.pcap", arrived.get(port, []))
        interfaces = [word for port in ports for word in ("-i", f"{port}@{self._folder}/{at}-{port}")]
        command = [*self._switch, "--use-files", "0", *interfaces, str(configured)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running:
            sent, since = 0, time.monotonic()
            while sent < sum(map(len, arrived.values())) and time.monotonic() - since < IDLE_S:
                time.sleep(0.1)
                now = sum(len(list(read_capture(self._folder / f"{at}-{port}_out.pcap"))) for port in ports)
                sent, since = now, since if now == sent else time.monotonic()
            running.kill()
        return {port: list(read_capture(self._folder / f"{at}-{port}_out.pcap")) for port in ports}

    def _configuration(self, at: str) -> dict[str, Any]:
        """The compiled program with the entries of a switch."""
        found: dict[str, Any] = json.loads((self._folder / "turns.json").read_text())
        tables = {table["name"]: table for pipeline in found["pipelines"] for table in pipeline["tables"]}
        request = text_format.Parse((self._folder / at / ENTRIES).read_text(), p4r.WriteRequest())
        for number, update in enumerate(request.updates, 1):
            entry = decode_entity(update.entity, self._schema)
            table = tables[self._schema.tables[entry.table_id].name]
            table.setdefault("entries", []).append(self._entry(entry, table, number))
        return found

    def _entry(self, entry: Any, table: Mapping[str, Any], number: int) -> dict[str, Any]:
        known = self._schema.tables[entry.table_id]
        action = self._schema.actions[entry.action.name]
        return {
            "match_key": [key_of(entry.match[field.name], field.bitwidth) for field in known.match_fields],
            "action_entry": {
                "action_id": table["action_ids"][table["actions"].index(action.name)],
                "action_data": [hex(entry.action.args[one.name]) for one in action.params],
            },
            "priority": number,
        }


def key_of(value: int | tuple[int, int], bits: int) -> dict[str, Any]:
    """One field of an entry as bmv2's configuration has it."""
    number, length = value if isinstance(value, tuple) else (value, None)
    key = f"0x{number:0{bits // 4}x}"
    if length is None:
        return {"match_type": "exact", "key": key}
    return {"match_type": "lpm", "key": key, "prefix_length": length}


def write_capture(path: Path, frames: Sequence[bytes]) -> None:
    """A capture whose packets are a millisecond apart."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, ETHERNET))
        for number, one in enumerate(frames):
            file.write(struct.pack("<IIII", 0, 1000 * number, len(one), len(one)) + one)


def read_capture(path: Path) -> Iterator[bytes]:
    """Frames of a capture, of which the last may still be written."""
    content = path.read_bytes() if path.exists() else b""
    at = 24
    while at + 16 <= len(content):
        (length,) = struct.unpack_from("<I", content, at + 8)
        if at + 16 + length > len(content):
            return
        yield content[at + 16 : at + 16 + length]
        at += 16 + length


if __name__ == "__main__":
    main()
