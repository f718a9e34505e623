"""Random scenarios at Python's doors: text, dict, object and overrides mean the same run to the bit, and it is Rust's.

Hostile values and damaged folders of results give `AnabranchError`, and nothing else. `ATTACK_COUNT` and `ATTACK_SEED`
choose more scenarios and others.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import fractions
import json
import math
import os
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import anabranch as ab
from anabranch import AnabranchError, _core
from anabranch.simulate.runs.frames import flow_frame
from anabranch.simulate.runs.load import load
from anabranch.simulate.runs.results import Run

COUNT = int(os.environ.get("ATTACK_COUNT") or 10)
SEED = os.environ.get("ATTACK_SEED") or "1"

FABRICS: list[dict[str, Any]] = [
    {"kind": "leaf-spine", "leaves": 2, "spines": 3, "hosts_per_leaf": 2},
    {"kind": "fat-tree", "k": 4, "hosts_per_leaf": 1},
    {"kind": "dumbbell", "hosts_per_side": 3},
    {"kind": "multi-plane", "planes": 2, "leaves": 2, "spines": 1, "hosts_per_leaf": 2},
    {"kind": "dragonfly", "routers_per_group": 2, "global_links_per_router": 1, "hosts_per_router": 1},
    {"kind": "slim-fly", "q": 3, "hosts_per_router": 1},
    {"kind": "rail-optimised", "segments": 1, "servers_per_segment": 2, "accelerators_per_server": 2, "spines": 1},
]
TRANSPORTS: list[dict[str, Any]] = [
    {"kind": "dctcp", "initial_window": 4},
    {"kind": "cubic", "hystart": False, "min_rto": "2 ms"},
    {"kind": "mptcp", "subflows": 2},
    {"kind": "udp", "rate": "1 Gbps"},
    {"kind": "roce", "control": "swift", "recovery": "selective", "beta": 0.25},
    {"kind": "roce", "semantics": "send", "rnr_timer": "10 us"},
    {"kind": "uec", "control": "nscc+rccc", "credit_share": 0.5, "ack_bytes": "1 B"},
]
TRAFFIC: list[dict[str, Any]] = [
    {"kind": "poisson", "sizes": "20 KB", "flows_per_s": 1e4, "flows": 5},
    {"kind": "poisson", "sizes": {"least": "1 B", "most": "30 KB"}, "load": 0.3, "flows": 7, "pattern": "permutation"},
    {"kind": "once", "sizes": "3000 B", "pattern": {"pairs": [[0, 1], [1, 0], [0, 2]]}},
    {"kind": "incast", "servers": 2, "response": "9 KB", "jobs_per_s": 1e4, "jobs": 2, "clients": [0, 1]},
    {"kind": "graph", "collective": "all-to-all", "size": "40 KB", "ranks": 3, "skew": 1.5, "iterations": 2},
    {"kind": "graph", "size": "9 KB", "ranks": 2, "rendezvous": "clear-to-send", "eager": "1 KB", "start": "7 us"},
]
BALANCES = ["ecmp", "spray", "letflow", "drill", "reps", "plb", "wcmp", "mrc", "hermes"]


def drawn(number: int) -> tuple[random.Random, dict[str, Any]]:
    """A scenario that runs in a moment, and the dice that drew it."""
    dice = random.Random(f"{SEED} {number}")
    link = {"rate": dice.choice(["10 Gbps", "25 Gbps"]), "buffer": dice.choice(["unlimited", "20 packets"])}
    scenario: dict[str, Any] = {
        "name": f"doors-{number}",
        "seed": dice.randrange(1 << 20),
        "fabric": copy.deepcopy(dice.choice(FABRICS)) | {"link": link},
        "host": {"nic": dice.choice(["fair", "fifo", "rdma"]), "jitter": dice.random() < 0.5},
        "routing": {"balance": dice.choice(BALANCES), "delay": "10 us"},
        "transport": copy.deepcopy(dice.choice(TRANSPORTS)),
        "traffic": [copy.deepcopy(dice.choice(TRAFFIC)) for _ in range(dice.randint(1, 2))],
        "stop": {"at": "5 ms"},
        "record": dice.choice([{"events": 20}, {"interval": "1 ms", "queues": "host0", "queue_interval": "100 us"}]),
    }
    if dice.random() < 0.5 and scenario["fabric"]["kind"] == "leaf-spine":
        scenario["change"] = [{"at": "40 us", "link": "host0-leaf0", "rate": "1 Gbps"}]
    return dice, scenario


def value_text(value: Any) -> str:
    """A value as TOML, written here so that the reader alone is trusted."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {value_text(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(value_text, value)) + "]"
    return json.dumps(value)


def toml(scenario: dict[str, Any], dice: random.Random) -> str:
    """A scenario as TOML: tables with headers, dotted keys or on a line."""
    scalars = {key: value for key, value in scenario.items() if not isinstance(value, (dict, list))}
    lines = [f"{key} = {value_text(value)}" for key, value in scalars.items()]
    for name, table in scenario.items():
        way = dice.randrange(3)
        if name in scalars:
            continue
        if way == 0:
            lines.insert(0, f"{name} = {value_text(table)}")
        elif isinstance(table, list):
            for one in table:
                lines += [f"[[{name}]]", *(f"{key} = {value_text(value)}" for key, value in one.items())]
        elif way == 1:
            lines += [f"[{name}]", *(f"{key} = {value_text(value)}" for key, value in table.items())]
        else:
            lines[:0] = [f"{name}.{key} = {value_text(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each value of a scenario with its path, as overrides name it."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}.{index}")
    else:
        yield path, value


def holder(scenario: Any, path: str) -> tuple[Any, Any]:
    """The table or list that the last part of a path stands in, and that part."""
    *above, last = path.split(".")
    for part in above:
        scenario = scenario[int(part)] if isinstance(scenario, list) else scenario[part]
    return scenario, int(last) if isinstance(scenario, list) else last


def without_some(scenario: dict[str, Any], dice: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """The scenario with some keys taken out, and these as overrides."""
    rest, overrides = copy.deepcopy(scenario), {}
    for path, value in list(leaves(scenario)):
        if dice.random() < 0.4 and path != "name" and not path.endswith(".kind"):
            table, key = holder(rest, path)
            overrides[path] = value
            del table[key]
    return rest, overrides


def refused(act: Callable[[], Any]) -> str | None:
    """The error of anabranch, if there is one; any other falls through."""
    try:
        act()
    except AnabranchError as error:
        return str(error)
    return None


@pytest.mark.parametrize("number", range(COUNT))
def test_every_door_leads_to_the_same_run(number: int, tmp_path: Path) -> None:
    dice, scenario = drawn(number)
    file = tmp_path / "scenario.toml"
    file.write_text(toml(scenario, dice), encoding="utf-8")
    rest, overrides = without_some(scenario, dice)
    pairs = [(key, value_text(value)) for key, value in overrides.items()]
    doors: dict[str, Callable[[], _core.Scenario]] = {
        "file": lambda: load(file),
        "dict": lambda: load(scenario),
        "object": lambda: load(ab.Scenario(scenario)),
        "overrides": lambda: load(rest, overrides),
        "pairs of texts": lambda: load(rest, pairs),
        "text": lambda: _core.Scenario(file.read_text(encoding="utf-8"), "scenario.toml"),
    }
    assert len({door().identity for door in doors.values()}) == 1, scenario
    by_file = ab.run(file, runs=tmp_path / "file", progress=False)
    by_overrides = ab.run(rest, overrides, runs=tmp_path / "overrides", progress=False)
    assert by_file.folder.name == by_overrides.folder.name
    core = doors["text"]().run(_core.Progress())
    nodes = by_file.topology["nodes"]["name"]
    flows = flow_frame(core, nodes)
    assert isinstance(flows, pl.DataFrame)
    assert by_file.flows.equals(flows)
    for table in (name.removesuffix(".parquet") for name in by_file.manifest["files"] if name.endswith(".parquet")):
        assert getattr(by_file, table).equals(getattr(by_overrides, table)), (table, scenario)
    again = ab.open(by_file.folder)
    assert isinstance(again, Run)
    assert again.flows.equals(by_file.flows)
    assert again.scenario == by_overrides.scenario


def endless() -> list[Any]:
    """A list that contains itself."""
    value: list[Any] = []
    value.append(value)
    return value


def deep() -> dict[str, Any]:
    """Tables in tables."""
    value: dict[str, Any] = {}
    for _ in range(5000):
        value = {"a": value}
    return value


HOSTILE: list[Callable[[], Any]] = [
    endless,
    deep,
    *(partial(copy.copy, value) for value in [None, math.nan, math.inf, -math.inf, -1, 0, 1e308, -0.0, 1j, True]),
    *(partial(copy.copy, value) for value in [2**63, 2**64, -(2**70), 10**400, 10**5000, np.float64("nan")]),
    *(partial(copy.copy, value) for value in ["", " ", "x" * 5000, "\x00", "\ud800", "1e999 s", "-1 s", "60 %"]),
    *(partial(copy.copy, value) for value in ["9" * 400 + " Gbps", "\u202e", "\x1b[31m", b"x", bytearray(b"x")]),
    *(partial(copy.copy, value) for value in [[], {}, [[]], {"": {}}, {1: 2}, {"a\nb": 1}, {1, 2}, range(3), [5, {}]]),
    *(partial(copy.copy, value) for value in [object(), len, Path("a\x00b"), datetime.datetime(2026, 1, 1)]),
    *(partial(copy.copy, value) for value in [decimal.Decimal("1.5"), fractions.Fraction(10**400, 3)]),
    *(partial(copy.copy, value) for value in [np.array([1.0, np.inf]), np.array(object()), np.datetime64("2026")]),
]


def try_hostile(scenario: dict[str, Any], path: str, value: Any, way: int) -> None:
    """Puts a value into a scenario that is a dict, an object or a copy of one, or into its overrides."""
    if way == 0:
        refused(lambda: load(scenario, {path: value}))
        return
    changed = copy.deepcopy(scenario)
    table, key = holder(changed, path)
    table[key] = value
    if way == 1:
        refused(lambda: load(changed))
    elif way == 2:
        refused(lambda: ab.Scenario(changed).resolve())
    else:
        refused(lambda: load(ab.Scenario(changed).copy()))


@pytest.mark.parametrize("path", ["traffic", "traffic.0", "fabric", "fabric.kind", "seed", "name"])
def test_each_hostile_value_is_refused_by_name(path: str) -> None:
    _, scenario = drawn(0)
    for hostile in HOSTILE:
        for way in range(4):
            try_hostile(scenario, path, hostile(), way)


@pytest.mark.parametrize("number", range(10 * COUNT))
def test_hostile_values_anywhere_are_refused_by_name(number: int) -> None:
    dice, scenario = drawn(number)
    paths = [path for path, _ in leaves(scenario)]
    path = dice.choice(paths + [one.rpartition(".")[0] for one in paths if "." in one])
    value = dice.choice(HOSTILE)()
    odd = ["", ".", f"{path}.", f"{path}.x", f"{path}..0", "\x00", "\ud800", "a[0]"]
    refused(lambda: load(scenario, {dice.choice(odd): value}))
    try_hostile(scenario, path, value, dice.randrange(4))


def damaged(content: bytes, dice: random.Random) -> bytes:
    """Content with something cut off, changed or in its place."""
    at = dice.randrange(len(content))
    changed = bytes([content[at] ^ 1 << dice.randrange(8)])
    junk = [b"", b"[]", b"5", b'{"files": 5}', b'{"files": [5]}', b"\xff\xfe", b"[" * 100_000, dice.randbytes(200)]
    return dice.choice([content[:at], content[:at] + changed + content[at + 1 :], dice.choice(junk)])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    _, scenario = drawn(0)
    return ab.run(scenario, {"record.events": 20}, runs=tmp_path_factory.mktemp("whole"), progress=False)


@pytest.mark.parametrize("number", range(5 * COUNT))
def test_damaged_results_are_refused_by_name(number: int, whole: Run, tmp_path: Path) -> None:
    dice = random.Random(f"{SEED} {number}")
    folder = tmp_path / "run"
    folder.mkdir()
    victim = dice.choice(sorted(one.name for one in whole.folder.iterdir()))
    for one in whole.folder.iterdir():
        content = one.read_bytes()
        (folder / one.name).write_bytes(damaged(content, dice) if one.name == victim else content)

    def read() -> None:
        found = ab.open(folder)
        assert isinstance(found, Run)
        for what in ("flows", "ports", "events", "scenario", "topology"):
            refused(partial(getattr, found, what))

    refused(read)
