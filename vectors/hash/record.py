#!/usr/bin/env python3
"""Write general.csv: what other implementations of each hash give for random inputs of 0 to 40 bytes.

Usage: pip install -r requirements.txt && python3 record.py WYHASH32_H
"""

import csv
import ctypes
import random
import re
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import crcmod.predefined
import google_crc32c
import jenkins_cffi
import mmh3
import pearhash
import xxhash

HERE = Path(__file__).parent
SEEDS = (0, 1, 0x9E3779B9, 0xFFFFFFFF)
CRC8 = crcmod.predefined.mkPredefinedCrcFun("crc-8")
CRC16 = crcmod.predefined.mkPredefinedCrcFun("crc-16")


def pearson(width: int) -> Callable[[bytes, int], int | None]:
    """Pearhash over the permutation of this project (its own is random); it knows no seed and no empty input."""
    source = (HERE / "../../crates/split/src/hash/pearson.rs").read_text()
    table = re.search(r"PERMUTATION: \[u8; 256\] = \[([\d,\s]+)\]", source)
    if not table:
        raise SystemExit("record.py: no PERMUTATION in crates/split/src/hash/pearson.rs")
    hasher = pearhash.PearsonHasher(width)
    hasher.table = [int(number) for number in table[1].split(",") if number.strip()]
    return lambda data, seed: int.from_bytes(hasher.hash(data), "big") if data and seed == 0 else None


def wyhash32(header: Path) -> Callable[[bytes, int], int]:
    """Hash function of the author's header, compiled by the C compiler."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "wyhash32.c"), Path(folder, "wyhash32.so")
        code = "unsigned hash(const void *key, uint64_t length, unsigned seed) { return wyhash32(key, length, seed); }"
        source.write_text(f'#include "{header.resolve()}"\n{code}\n')
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True, timeout=60)
        function = ctypes.CDLL(str(library)).hash
    function.argtypes, function.restype = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint], ctypes.c_uint
    return lambda data, seed: int(function(data, len(data), seed))


if len(sys.argv) != 2:
    raise SystemExit("usage: record.py WYHASH32_H, the author's header")

FUNCTIONS: dict[str, Callable[[bytes, int], int | None]] = {
    "crc8": lambda data, seed: CRC8(data, seed) if seed < 1 << 8 else None,
    "crc16": lambda data, seed: CRC16(data, seed) if seed < 1 << 16 else None,
    "crc32": zlib.crc32,
    "crc32c": lambda data, seed: google_crc32c.extend(seed, data),
    "lookup3": jenkins_cffi.hashlittle,
    "murmur3": lambda data, seed: mmh3.hash(data, seed, signed=False),
    "pearson8": pearson(1),
    "pearson32": pearson(4),
    "wyhash32": wyhash32(Path(sys.argv[1])),
    "xxh3": xxhash.xxh3_64_intdigest,
}


def main() -> None:
    draw = random.Random(1)
    inputs = [draw.randbytes(length) for length in range(41)] + [draw.randbytes(13) for _ in range(20)]
    with (HERE / "general.csv").open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["function", "seed", "input", "hash"])
        for name, function in FUNCTIONS.items():
            for seed in SEEDS:
                for data in inputs:
                    value = function(data, seed)
                    if value is not None:
                        rows.writerow([name, f"{seed:x}", data.hex(), f"{value:x}"])


if __name__ == "__main__":
    main()
