"""`anabranch sweep --dask` with schedulers and workers that are processes of their own."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from anabranch.simulate.runs.folder import read_manifest
from anabranch.simulate.study.study import load_study
from anabranch.simulate.study.sweep import resolve
from support.certificates import make_certificates
from support.command import anabranch
from support.dask_processes import Cluster
from support.small_scenario import LONG, SMALL
from support.waiting import wait

STUDY = """\
scenario = "small.toml"

[axes]
routing.balance = ["ecmp", "spray"]
"""

CELL = r"anabranch: error: dask: {}: at routing\.balance (ecmp|spray), seed 1: "

NAMES_FILES = """
[[traffic]]
kind = "flow-list"
file = "lists/flows.csv"

[[traffic]]
sizes = { file = "lists/sizes.csv" }
load = 0.1
duration = "1 ms"
"""


TIMEOUT_LEFT_BEHIND = """
import distributed

close = distributed.Client.close

def close_with_a_timeout_left_behind(self, *arguments, **options):
    loop = self.loop
    loop.add_callback(lambda: loop.asyncio_loop.create_future().set_exception(TimeoutError("Timeout")))
    return close(self, *arguments, **options)

distributed.Client.close = close_with_a_timeout_left_behind
"""
"""What closing a client does now and then: nobody waits for its last batch any more when that times out."""


def write_study(where: Path, scenario: str) -> None:
    where.mkdir()
    (where / "study.toml").write_text(STUDY)
    (where / "small.toml").write_text(scenario)


def test_files_travel_by_digest_and_a_sweep_waits_for_workers(tmp_path: Path) -> None:
    where = tmp_path / "here"
    write_study(where, SMALL + NAMES_FILES)
    (where / "lists").mkdir()
    (where / "lists" / "flows.csv").write_text("id,src,dst,size_bytes,start_ns\n0,0,3,100000,0\n1,3,0,5000,2500\n")
    (where / "lists" / "sizes.csv").write_text("size_bytes,cdf\n1000,0.5\n20000,1\n")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(TIMEOUT_LEFT_BEHIND)
    site = {"PYTHONPATH": str(tmp_path / "site")}
    with (
        Cluster(tmp_path) as cluster,
        cluster.sweep(where, "study.toml", "--runs", "runs", environment=site) as sweep,
    ):
        assert sweep.stderr is not None
        assert sweep.stderr.readline() == (
            f"dask: {cluster.address}: no workers; waiting: start some with `dask worker {cluster.address}`\n"
        )
        cluster.worker()
        output, errors = sweep.communicate()
        assert (sweep.returncode, errors) == (0, ""), errors
        assert "2 cells, 0 complete, 2 to run" in output
    done = anabranch("sweep", str(where / "study.toml"), "--runs", str(tmp_path / "local"))
    assert done.returncode == 0, done.stderr
    for cell in (tmp_path / "local" / "study").glob("small-*"):
        there = where / "runs" / "study" / cell.name
        for name in ("flows.parquet", "scenario.toml", "leaf0-spine0.pcapng"):
            assert (there / name).read_bytes() == (cell / name).read_bytes()


def running(where: Path, cluster: Cluster) -> subprocess.Popen[str]:
    """A sweep whose cells would take hours, once the scheduler has them."""
    from distributed import Client

    write_study(where, LONG)
    sweep = cluster.sweep(where, "study.toml")
    with Client(cluster.address) as client:
        wait(
            lambda: sweep.poll() is not None or any(client.processing().values()),
            lambda: f"the scheduler at {cluster.address} gets no cell",
        )
        assert sweep.poll() is None, sweep.communicate()
    return sweep


def test_a_killed_scheduler_ends_in_one_line(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        cluster.worker()
        with running(tmp_path / "here", cluster) as sweep:
            cluster.scheduler.kill()
            _, errors = sweep.communicate()
    assert sweep.returncode == 2
    assert errors.count("\n") <= 2, errors
    assert re.search(CELL.format(cluster.address), errors)
    assert "hint: what is complete stays, and the same command runs the rest" in errors


def test_a_cell_whose_workers_die_is_named(tmp_path: Path) -> None:
    with Cluster(tmp_path, environment={"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}) as cluster:
        worker = cluster.worker()
        with running(tmp_path / "here", cluster) as sweep:
            worker.kill()
            _, errors = sweep.communicate()
    assert sweep.returncode == 2
    assert re.match(CELL.format(cluster.address) + "1 worker died with this cell, the last of them tcp:", errors)
    assert errors.count("\n") == 1


def test_a_worker_says_who_it_is(tmp_path: Path) -> None:
    where = tmp_path / "here"
    write_study(where, SMALL)
    with Cluster(tmp_path, environment={"PYTHONPATH": str(tmp_path / "other")}) as cluster:
        (tmp_path / "other").mkdir()
        # A worker with another version of the program.
        (tmp_path / "other" / "sitecustomize.py").write_text("import anabranch._core as core\ncore.VERSION = '0.0.1'\n")
        cluster.worker()
        with cluster.sweep(where, "study.toml") as sweep:
            _, errors = sweep.communicate()
    assert sweep.returncode == 2
    line = errors.splitlines()[-1]
    assert line.startswith("anabranch: error: dask: worker tcp://127.0.0.1:")
    assert "at routing.balance ecmp, seed 1: anabranch 0.0.1 is here" in line


def test_tls_without_a_certificate_says_what_to_set(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed: pip install distributed")
    write_study(tmp_path / "here", SMALL)
    done = anabranch("sweep", str(tmp_path / "here/study.toml"), "--runs", str(tmp_path), "--dask", "tls://127.0.0.1:1")
    assert done.returncode == 2
    assert "dask: tls://127.0.0.1:1: TLS without a certificate; hint: set distributed.comm.tls.ca-file" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_sweep_runs_over_tls(tmp_path: Path) -> None:
    write_study(tmp_path / "here", SMALL)
    tls = make_certificates(tmp_path)
    node, me = tls["switch"], tls["controller"]
    options = ["--protocol", "tls", "--tls-ca-file", str(node.authority)]
    options += ["--tls-cert", str(node.certificate), "--tls-key", str(node.key)]
    environment = {
        "DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(me.authority),
        "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT": str(me.certificate),
        "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY": str(me.key),
    }
    with Cluster(tmp_path, options) as cluster:
        assert cluster.address.startswith("tls://")
        cluster.worker()
        with cluster.sweep(tmp_path / "here", "study.toml", environment=environment) as sweep:
            _, errors = sweep.communicate()
    assert sweep.returncode == 0, errors
    cells = resolve(load_study(tmp_path / "here" / "study.toml"), tmp_path / "here" / "runs").cells
    assert all(read_manifest(cell.folder) is not None for cell in cells)
