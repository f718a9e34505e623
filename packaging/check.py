"""Check of the files that `make wheel` writes: `python packaging/check.py dist`, with auditwheel beside it.

The wheel is for manylinux2014, small, and carries its licences; installed with its dependencies from the package index,
it does in an empty folder what the documentation shows. The source distribution builds such a wheel by itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

SIZE_BYTES_MAX = 15_000_000
PLATFORM = "manylinux_2_17_x86_64"
LICENCES = ("LICENSE", "THIRD-PARTY.md")
LIMIT_S = 3600
"""Limit of a command: the source distribution compiles all of the extension."""

VERBS = """
anabranch --version
anabranch doctor
anabranch examples --into examples
anabranch split examples/datacenter.pcap.zst --weights 4,3,2
anabranch plan --weights 3,7,11,13 --target ovs
anabranch show examples/leaf-spine.toml
anabranch run examples/leaf-spine.toml -o traffic.duration=1ms
anabranch compare ecmp examples/own/small_plb.py:SmallPlb --load 0.3 --seeds 2 -o traffic.duration=1ms
anabranch sweep examples/study.toml --seeds 1 -o traffic.duration=2ms
anabranch report runs/one-slow-link
anabranch reproduce tdlb --recorded --quiet
anabranch schemes new two-choices
anabranch lab list
"""
"""Command lines that need nothing but the package; all end with status 0."""


def main(dist: Path) -> None:
    """Checks the wheel and the source distribution in a folder; ends the program where one is wrong."""
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    look_at(wheel)
    with tempfile.TemporaryDirectory(prefix="anabranch-wheel-") as name:
        folder = Path(name)
        try_out(wheel, folder / "installed")
        try_out(rebuilt(sdist, folder), folder / "rebuilt")


def look_at(wheel: Path) -> None:
    """Checks size, platform and licences of a wheel."""
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.1f} MB, at most {SIZE_BYTES_MAX / 1e6:.0f}", flush=True)
    if size > SIZE_BYTES_MAX:
        sys.exit(f"{wheel}: too large")
    shown = run([sys.executable, "-m", "auditwheel", "show", str(wheel)])
    if f'platform tag: "{PLATFORM}"' not in " ".join(shown.split()):
        sys.exit(f"{wheel}: not for {PLATFORM}:\n{shown}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for licence in LICENCES:
        if not any(name.endswith(f".dist-info/licenses/{licence}") for name in names):
            sys.exit(f"{wheel}: there is no {licence} in it")


def rebuilt(sdist: Path, folder: Path) -> Path:
    """Builds the wheel of a source distribution, as pip does where no wheel fits."""
    print(f"{sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB, building its wheel", flush=True)
    python = environment(folder / "builder")
    out = folder / "wheels"
    run([str(python), "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(sdist.resolve())])
    (wheel,) = out.glob("*.whl")
    return wheel


def try_out(wheel: Path, folder: Path) -> None:
    """Installs a wheel into an environment of its own, and runs verbs in an empty folder."""
    python = environment(folder)
    run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel.resolve())])
    work = folder / "work"
    work.mkdir()
    for line in VERBS.strip().splitlines():
        print(f"  {line}", flush=True)
        run([str(python.parent / "anabranch"), *line.split()[1:]], work)


def environment(folder: Path) -> Path:
    """Makes an environment without packages, and returns its Python."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def run(command: list[str], folder: Path | None = None) -> str:
    """Runs a command and returns what it prints; ends the program if it fails."""
    # Nothing of the environment that `make` sets up, and nothing of a checkout.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "PYO3"))}
    done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
