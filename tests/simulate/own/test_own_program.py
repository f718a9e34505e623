"""Crates outside the tree on an axis of a study: which programs are refused, and that the others' results are whole."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

import anabranch as ab
from anabranch import AnabranchError
from anabranch._core import VERSION, Scenario
from anabranch.simulate.own.program import find_program
from support.command import anabranch
from support.small_scenario import SMALL

ROOT = Path(__file__).resolve().parents[3]
MODEL = Scenario(SMALL, "small.toml").model_version


@pytest.fixture(autouse=True)
def own_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CARGO_TARGET_DIR", raising=False)


def write_crate(where: Path, about: str | None) -> Path:
    """A crate with a program that answers `--about` so, as far as a shell can."""
    crate = where / "mine"
    (crate / "src").mkdir(parents=True)
    (crate / "Cargo.toml").write_text('[package]\nname = "mine"\n')
    (crate / "src" / "li b.rs").write_text("")
    if about is not None:
        release = crate / "target" / "release"
        release.mkdir(parents=True)
        (release / "mine").write_text(f"#!/bin/sh\ncat <<'END'\n{about}\nEND\n")
        (release / "mine").chmod(0o755)
        source = str(crate / "src" / "li b.rs").replace(" ", "\\ ")
        (release / "mine.d").write_text(f"{release / 'mine'}: {source}\n")
    return crate


def about(version: str = VERSION, model: int = MODEL) -> str:
    return f'name = "mine"\nversion = "{version}"\nmodel_version = {model}'


def test_a_program_is_told_by_its_content(tmp_path: Path) -> None:
    crate = write_crate(tmp_path, about())
    first = find_program("crate:mine", tmp_path)
    assert (first.name, first.path) == ("mine", str(crate / "target" / "release" / "mine"))
    assert find_program("crate:mine", tmp_path) == first
    with (crate / "target" / "release" / "mine").open("a") as file:
        file.write("# another build\n")
    assert find_program("crate:mine", tmp_path).digest != first.digest


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (None, "release/mine is not built; hint: run `cargo build --release` in .*/mine$"),
        (about("0.0.1"), f"was built with anabranch 0.0.1, and {VERSION} is here; hint: run `cargo build"),
        ("hello", "does not answer as a program for studies does; its main.rs must call anabranch_program::main"),
    ],
)
def test_programs_that_cannot_be_used_are_refused(tmp_path: Path, said: str | None, message: str) -> None:
    write_crate(tmp_path, said)
    with pytest.raises(AnabranchError, match=message) as refused:
        find_program("crate:mine", tmp_path)
    assert str(refused.value).startswith("crate:mine: ")


def test_a_stale_program_is_refused(tmp_path: Path) -> None:
    crate = write_crate(tmp_path, about())
    source = crate / "src" / "li b.rs"
    later = time.time() + 5
    os.utime(source, (later, later))
    with pytest.raises(AnabranchError, match=r"release/mine is older than .*/src/li b.rs; hint: run `cargo build"):
        find_program("crate:mine", tmp_path)
    source.unlink()
    with pytest.raises(AnabranchError, match=r"is older than .*/src/li b.rs, which is gone; hint"):
        find_program("crate:mine", tmp_path)


def study(where: Path, *balance: str) -> Path:
    path = where / "study.toml"
    (where / "small.toml").write_text(SMALL)
    path.write_text(f'name = "s"\nscenario = "small.toml"\naxes.routing.balance = {json.dumps(balance)}\n')
    return path


def test_a_program_of_another_model_is_refused_and_one_that_fails_is_quoted(tmp_path: Path) -> None:
    crate = write_crate(tmp_path, about(model=MODEL - 1))
    with pytest.raises(AnabranchError, match=f"simulates by model {MODEL - 1}, and {MODEL} is here; hint: build both"):
        ab.sweep(study(tmp_path, "crate:mine"), runs=tmp_path / "runs", progress=False)
    program = crate / "target" / "release" / "mine"
    answers = program.read_text().replace(f"model_version = {MODEL - 1}", f"model_version = {MODEL}")
    for line, message in [
        ("echo 'mine: error: plan: too many groups; use fewer' >&2; exit 2", "plan: too many groups; use fewer"),
        ("kill -9 $$", "release/mine was ended by signal 9$"),
        (
            "echo 'thread main panicked at src/lib.rs:3:5:' >&2; echo 'mine' >&2; exit 101",
            "101: .*src/lib.rs:3:5: mine",
        ),
    ]:
        program.write_text(answers.replace("#!/bin/sh\n", f'#!/bin/sh\nif [ "$1" = --cell ]; then {line}; fi\n'))
        with pytest.raises(AnabranchError, match=f"^at routing.balance mine, seed 1: crate:mine: .*{message}"):
            ab.sweep(study(tmp_path, "crate:mine"), runs=tmp_path / "runs", progress=False)
    assert not list(tmp_path.glob("runs/s/*/manifest.json"))


def test_programs_do_not_travel_to_workers(tmp_path: Path) -> None:
    write_crate(tmp_path, about())
    done = anabranch(
        "sweep", str(study(tmp_path, "crate:mine")), "--runs", str(tmp_path / "runs"), "--dask", "tcp://127.0.0.1:1"
    )
    assert done.returncode == 2
    assert "crate:mine: programs do not travel to workers; hint: sweep in shards" in done.stderr


MAIN = """\
fn main() -> std::process::ExitCode {
    anabranch_program::main(env!("CARGO_PKG_NAME"), |task| {
        anabranch_balancers::simulate(task.fabric, task.flows, task.settings, task.progress)
    })
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("door", ["switches", "hosts"])
def test_a_program_that_does_what_the_house_does_leaves_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    # Always in the same place, so that only the first time takes long.
    into = ROOT / "target" / "own-program"
    crate = into / f"house-{door}"
    shutil.rmtree(crate, ignore_errors=True)
    into.mkdir(parents=True, exist_ok=True)
    assert anabranch("schemes", "new", crate.name, "--door", door, "--into", str(into)).returncode == 0
    (crate / "src" / "main.rs").write_text(MAIN)
    monkeypatch.setenv("CARGO_TARGET_DIR", str(ROOT / "target"))
    built = subprocess.run(["cargo", "build", "--release"], cwd=crate, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    found = ab.sweep(study(tmp_path, "ecmp", f"crate:{crate}"), runs=tmp_path / "runs", progress=False)
    ecmp, own = (ab.Run(cell.folder) for cell in found.cells)
    assert own.manifest["scheme"]["name"] == crate.name
    for table in ("flows", "ports", "queues", "windows", "events"):
        one, other = (pl.read_parquet(run.folder / f"{table}.parquet") for run in (ecmp, own))
        assert one.height > 0
        assert one.equals(other)
        assert one.schema == other.schema
    for key in ("end_ns", "packet_hops", "events", "flows_finished", "marked_packets", "packets_peak", "files"):
        assert own.manifest[key] == ecmp.manifest[key]
    (capture,) = ecmp.folder.glob("*.pcapng")
    assert (own.folder / capture.name).read_bytes() == capture.read_bytes()
