"""Workloads of AICB from their lines to the tables."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import polars as pl

import anabranch as ab
from support.command import anabranch


def scenario(file: Path, hosts_per_leaf: int, **keys: Any) -> dict[str, Any]:
    """A workload on two racks."""
    fabric = {"leaves": 2, "spines": 2, "hosts_per_leaf": hosts_per_leaf}
    return {"name": "layers", "fabric": fabric, "traffic": [{"kind": "graph", "file": str(file), **keys}]}


COLLECTIVES = {"ALLREDUCE": 2, "ALLGATHER": 1, "REDUCESCATTER": 1, "ALLTOALL": 1}
"""Collectives of a workload of AICB, and how often each rank sends a part to each other."""


def sent(text: str) -> tuple[int, int]:
    """Messages and bytes of a workload of AICB, line by line: groups of all ranks, a part for each other rank."""
    first, _, *lines = text.splitlines()
    sizes = {key.strip(":"): int(value) for key, value in itertools.pairwise(first.split()) if key.endswith(":")}
    ranks, tensor, expert = sizes["all_gpus"], sizes["model_parallel_NPU_group"], sizes["ep"]
    replicas = ranks // tensor // sizes["pp"]
    messages = total = 0
    for line in lines:
        words = line.split()
        for column, usual in ((3, tensor), (6, tensor), (9, replicas)):
            kind, _, group = words[column].partition("_")
            size = {"": usual, "EP": expert, "DP_EP": replicas // expert}[group]
            if kind == "NONE" or size == 1 or words[column + 1] == "0":
                continue
            count = ranks * (size - 1) * COLLECTIVES[kind]
            messages += count
            total += count * int(words[column + 1]) // size
    return messages, total


def test_layers_of_a_workload_are_those_of_its_lines(tmp_path: Path) -> None:
    """A mixture of experts as AICB lists it: twelve layers of attention and experts, sums of gradients before them."""
    lines = [
        "grad_gather -1 1 NONE 0 1 NONE 0 1 ALLGATHER 1048576 100",
        "grad_param -1 1 NONE 0 1 NONE 0 1 REDUCESCATTER 2097152 100",
        "moe_grad -1 1 NONE 0 1 NONE 0 1 REDUCESCATTER_DP_EP 4194304 100",
        "embedding -1 600 ALLREDUCE 65536 1 NONE 0 1500 NONE 0 100",
        *(
            f"{name} -1 {time} {forward} 65536 {time} {backward} {bytes_back} {time} NONE 0 100"
            for _ in range(12)
            for name, time, forward, backward, bytes_back in (
                ("attention_column", 1700, "ALLGATHER", "REDUCESCATTER", 0),
                ("attention_row", 900, "REDUCESCATTER", "ALLGATHER", 65536),
                ("moe_there", 800, "ALLTOALL_EP", "ALLTOALL_EP", 131072),
                ("moe_back", 300, "ALLTOALL", "ALLTOALL", 32768),
            )
        ),
    ]
    head = (
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 ep: 2 pp: 2 vpp: 1 ga: 12 all_gpus: 32 pp_comm: 9"
    )
    file = tmp_path / "moe.txt"
    file.write_text("\n".join([head, str(len(lines)), *lines]) + "\n")
    shown = anabranch("graph", str(file), "--json", "-")
    assert shown.returncode == 0, shown.stderr
    described = json.loads(shown.stdout)["graph"]
    assert (described["messages"], described["bytes"]) == sent(file.read_text())
    assert "each of 2 stages does what the file lists" in described["warnings"][0]
    run = ab.run(scenario(file, 16), runs=tmp_path)
    assert len(run.flows) == described["messages"]
    parts = run.steps.with_columns(pl.col("kind").cast(pl.String))
    assert parts["kind"].to_list() == ["job", "step", "compute", "tensor", "expert", "data"]


def test_workloads_without_a_number_of_ranks_ask_for_it(tmp_path: Path) -> None:
    file = tmp_path / "data.txt"
    file.write_text("DATA\n1\nlayer -1 1000 NONE 0 0 NONE 0 3000 ALLREDUCE 8000 0\n")
    refused = anabranch("graph", str(file))
    assert refused.returncode == 2
    assert "data.txt:1: no number of ranks; add `all_gpus: N`" in " ".join(refused.stderr.split())
    run = ab.run(scenario(file, 2, ranks=4), runs=tmp_path)
    assert len(run.flows) == 4 * 6
    assert run.flows["size_bytes"].unique().to_list() == [2000]
