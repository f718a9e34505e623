"""Picks on a processor without an operating system: they link, without a panic, and pick what the library picks."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import anabranch as ab

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).parent / "bare_target" / "picks.rs"
TARGET = "thumbv7em-none-eabihf"
EMULATOR = "qemu-arm"


def answer(*command: str | Path, folder: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a command; its status is the caller's to judge."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CARGO_PROFILE")}
    return subprocess.run(
        command, cwd=folder, env=environment | variables, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The crate without its features, built for the target; skipped where the target's core library is missing."""
    core = answer("rustc", "--print", "target-libdir", "--target", TARGET).stdout.strip()
    if not core or not list(Path(core).glob("libcore-*")):
        pytest.skip(f"there is no core library for {TARGET}: rustup target add {TARGET}")
    folder = tmp_path_factory.mktemp("bare")
    command = ["cargo", "build", "--release", "--locked", "--package", "anabranch-split", "--no-default-features"]
    built = answer(*command, "--target", TARGET, CARGO_TARGET_DIR=str(folder))
    assert built.returncode == 0, built.stderr
    return folder / TARGET / "release" / "libanabranch_split.rlib"


@pytest.fixture(scope="module")
def splitters() -> dict[str, ab.Splitter]:
    """Splitters of the program's picks."""
    return {
        "min-move": ab.Splitter("min-move", [4, 3, 2], slots=4096),
        "maglev": ab.Splitter("maglev", [4, 3, 2], entries=251),
        "log-rendezvous": ab.Splitter("log-rendezvous", [4, 2, 1]),
        "cdf": ab.Splitter("cdf", [2, 1, 1]),
    }


def linked(source: Path, library: Path, splitters: dict[str, ab.Splitter]) -> tuple[Path, str]:
    """The program of a source, and what the linker says of it."""
    tables = library.parent / "tables.rs"
    lines = []
    for name, kind in (("min-move", "SLOTS: [u8"), ("maglev", "ENTRIES: [u16")):
        table = splitters[name].table()
        assert table is not None
        storage = "static" if name == "min-move" else "const"
        lines.append(f"{storage} {kind}; {len(table)}] = {table.tolist()};\n")
    tables.write_text("".join(lines))
    program = library.parent / source.stem
    built = answer(
        *("rustc", "--edition", "2024", "--target", TARGET, "-C", "opt-level=3", "-C", "panic=abort"),
        *("--crate-type", "bin", "--extern", f"anabranch_split={library}", "-o", program, source),
        TABLES=str(tables),
    )
    return program, built.stderr if built.returncode else ""


def digest(splitter: ab.Splitter) -> str:
    """FNV-1a of 64 bits over the members of the program's keys."""
    keys = np.arange(1, 20_001, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    keys ^= keys >> np.uint64(31)
    value = 0xCBF29CE484222325
    for byte in splitter.pick(keys).astype("<u2").tobytes():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def test_picks_link_without_a_system_and_without_a_panic(library: Path, splitters: dict[str, ab.Splitter]) -> None:
    program, errors = linked(PROGRAM, library, splitters)
    assert not errors
    assert program.read_bytes()[:20] == b"\x7fELF\x01\x01\x01" + bytes(9) + b"\x02\x00\x28\x00"


def test_a_panic_would_not_link(library: Path, splitters: dict[str, ab.Splitter]) -> None:
    source = PROGRAM.read_text()
    panics = source.replace("in member.to_le_bytes()", "in [SLOTS[usize::from(member)]]")
    assert panics != source
    other = library.parent / "panics.rs"
    other.write_text(panics)
    assert "a_pick_has_a_panic_that_is_left" in linked(other, library, splitters)[1]


def test_picks_are_those_of_the_library(library: Path, splitters: dict[str, ab.Splitter]) -> None:
    emulator = shutil.which(EMULATOR)
    if emulator is None:
        pytest.skip(f"there is no {EMULATOR}")
    program, errors = linked(PROGRAM, library, splitters)
    assert not errors
    printed = answer(emulator, program)
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.splitlines() == [f"{name} {digest(splitter)}" for name, splitter in splitters.items()]
