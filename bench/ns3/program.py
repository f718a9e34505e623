"""ns-3's side: installs Debian's package, compiles `leaf_spine.cc`, runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BUILT = HERE / "build" / "leaf_spine"
HEADER = Path("/usr/include/ns3/core-module.h")
LIBRARIES = ("internet", "point-to-point", "traffic-control", "network", "core")
# Debian's own flags for ns-3 are -O2; this scenario's own code gets more.
FLAGS = ("-std=c++17", "-O3", "-DNDEBUG", "-Wall", "-Wextra")
LIMIT_S = 6 * 3600
"""Limit of a program, several times what the longest lists take."""


def install() -> None:
    """Installs ns-3 and a compiler where that is allowed, else names them."""
    if HEADER.exists() and shutil.which("g++"):
        return
    packages = ["libns3-dev", "g++"]
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise SystemExit(f"compare: ns-3 is missing: sudo apt-get install {' '.join(packages)}")
    print(f"installing Debian packages: {' '.join(packages)}", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *packages]):
        command = ["apt-get", *arguments]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S)
        if run.returncode:
            raise SystemExit(f"compare: apt-get {arguments[0]} failed: {run.stderr.strip()}")


def build() -> Path:
    """The program, compiled again only after a change."""
    install()
    sources = [*HERE.glob("*.cc"), *HERE.glob("*.h")]
    if BUILT.exists() and BUILT.stat().st_mtime > max(source.stat().st_mtime for source in sources):
        return BUILT
    BUILT.parent.mkdir(exist_ok=True)
    command = ["g++", *FLAGS, "-o", str(BUILT), str(HERE / "leaf_spine.cc"), *(f"-lns3-{name}" for name in LIBRARIES)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    if run.returncode:
        raise SystemExit(f"compare: {' '.join(command)}\n{run.stderr}")
    return BUILT


def run(program: Path, flows: Path, out: Path, **settings: object) -> dict[str, Any]:
    """Runs a list: rows go to `out`, settings and sums come back.

    Settings are named as on its command line, with underscores.
    """
    options = [f"--{key.replace('_', '-')}={str(value).lower()}" for key, value in settings.items()]
    command = [str(program), f"--flows={flows}", f"--out={out}", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode:
        raise SystemExit(f"compare: {program.name} failed: {done.stderr.strip()}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report
