"""`anabranch explain`: against recorded choices of Open vSwitch, and against the library's own picks."""

from __future__ import annotations

import csv
import itertools
import json
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anabranch as ab
from anabranch.deploy.targets.plan.explanation import by_technique, parse_tuples
from anabranch.deploy.targets.plan.group import group
from anabranch.split.request import Choice
from support.command import anabranch

VECTORS = Path(__file__).parents[3] / "vectors" / "ovs"
STATELESS = [technique.name for technique in ab.techniques() if technique.granularity == "stateless"]
FIELDS = ("source", "destination", "protocol", "source_port", "destination_port")
ONE = "10.0.0.1,10.0.0.2,tcp,40000,80"


def explained(*arguments: str) -> list[dict[str, Any]]:
    run = anabranch("explain", *arguments, "--json", "-")
    assert run.returncode == 0, run.stderr
    found: list[dict[str, Any]] = json.loads(run.stdout)["connections"]
    return found


def recorded(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((VECTORS / name).read_text().splitlines()))


def flow_list(path: Path, rows: list[dict[str, str]]) -> str:
    lines = ["src,dst,proto,sport,dport", *(",".join(row[field] for field in FIELDS) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_open_vswitch_took_the_same_bucket(tmp_path: Path) -> None:
    asked = 0
    groups = itertools.groupby(
        recorded("select_group.csv"), lambda row: (row["weights"], row["bucket_ids"], row["parameter"])
    )
    for (weights, ids, parameter), part in groups:
        rows = list(part)
        setting = ["--weights", weights.replace(":", ","), "--bucket-ids", ids.replace(":", ","), "--param", parameter]
        found = explained("--file", flow_list(tmp_path / "flows.csv", rows), "--target", "ovs", *setting)
        assert [one["bucket_id"] for one in found] == [int(row["bucket_id"]) for row in rows]
        asked += len(found)
    assert asked == 4000


def test_open_vswitch_reached_the_same_slot(tmp_path: Path) -> None:
    asked = 0
    equal = ["--weights", ",".join(["1"] * 256), "--target", "ovs", "--method", "dp_hash"]
    for (name, basis), part in itertools.groupby(recorded("dp_hash.csv"), lambda row: (row["algorithm"], row["basis"])):
        rows = list(part)
        parameter = ["l4", "sym-l4"].index(name) << 32 | int(basis)
        found = explained("--file", flow_list(tmp_path / "flows.csv", rows), *equal, "--param", str(parameter))
        # 256 equal buckets: slot and bucket are one.
        assert [one["bucket_id"] for one in found] == [int(row["slot"]) for row in rows]
        assert [dict(one["steps"])["slot"] for one in found] == [f"{row['slot']} of 256" for row in rows]
        asked += len(found)
    assert asked == 3200


def random_tuples(count: int) -> list[str]:
    draw = np.random.default_rng(5)
    numbers = draw.integers(0, 256, (count, 8))
    ports = draw.integers(1, 65536, (count, 2))
    protocols = draw.choice(["tcp", "udp", "sctp"], count)
    return [
        f"{'.'.join(map(str, n[:4]))},{'.'.join(map(str, n[4:]))},{protocol},{a},{b}"
        for n, protocol, (a, b) in zip(numbers, protocols, ports, strict=True)
    ]


@pytest.mark.parametrize("technique", STATELESS)
def test_the_explained_path_is_the_picked_one(technique: str) -> None:
    tuples = parse_tuples(random_tuples(300))
    wanted = group("4,3,0,2,6", [2])
    for hash_name in ("xxh3", "crc16", "toeplitz", "ovs-hash"):
        found = by_technique(tuples, wanted, Choice(technique), hash_name, 9)
        splitter = ab.Splitter(technique, wanted.weights)
        splitter.update(up=wanted.up)
        picked = splitter.pick(ab.flow_keys(tuples, hash_name, 9))
        assert [one.path for one in found] == (picked + 1).tolist()


@pytest.mark.parametrize("technique", ["scoring", "scoring-wide", "valo", "log-rendezvous"])
def test_the_best_score_is_the_picked_path(technique: str) -> None:
    best = min if technique == "log-rendezvous" else max
    for one in by_technique(parse_tuples(random_tuples(200)), group("4,3,2"), Choice(technique), "xxh3", 0):
        scores = {
            what: float(value.split()[0]) for what, value in one.steps if " of path " in what and "gravity" not in what
        }
        assert best(scores, key=lambda what: scores[what]).endswith(f"path {one.path}")


def test_the_hash_input_is_what_is_hashed() -> None:
    (one,) = explained(ONE, "--weights", "4,3,2", "--hash", "crc32")
    steps = dict(one["steps"])
    assert steps["hash input"] == "0a000001 0a000002 9c40 0050 06 (13 bytes)"
    assert steps["crc32"].startswith(f"0x{zlib.crc32(bytes.fromhex('0a0000010a0000029c40005006')):08x}")


def test_a_dead_bucket_is_passed_over() -> None:
    texts = random_tuples(60)
    both = [
        explained(*texts, "--weights", "4,3,2", "--target", "ovs", "--method", "dp_hash", *more)
        for more in ((), ("--fail", "2"))
    ]
    for before, after in zip(*both, strict=True):
        assert after["path"] != 2
        assert before["path"] == 2 or before["path"] == after["path"]
        assert ("is dead" in dict(after["steps"])["slot"]) == (before["path"] == 2)


def test_icmp_without_type_and_code_has_no_slot() -> None:
    ovs = ("--weights", "4,3,2", "--target", "ovs", "--method")
    one, other = "10.0.0.1,10.0.0.2,icmp", "fd00::1,fd00::2,icmpv6"
    run = anabranch("explain", one, f"{one},8,0", other, *ovs, "dp_hash")
    assert run.returncode == 3
    assert run.stdout.count("not known without ICMP's type and code") == 2
    assert "icmp_type=8 icmp_code=0" in run.stdout
    # The symmetric hash and `hash` read neither.
    for method in ("default", "hash"):
        bare, typed = explained(one, f"{one},8,0", *ovs, method)
        assert bare["path"] == typed["path"]
    # A key of the library is of ports 0, as `split` counts ICMP.
    assert explained(one, "--weights", "4,3,2")[0]["steps"] == explained(f"{one},0,0", "--weights", "4,3,2")[0]["steps"]


def test_steps_are_shown_for_few_and_a_table_for_many() -> None:
    few = anabranch("explain", ONE, "fd00::1,fd00::2,udp,5,6", "--weights", "4,3,2")
    assert few.returncode == 0, few.stderr
    assert "slot " in few.stdout
    assert re.search(r"^  path +2 of 3$", few.stdout, re.MULTILINE)
    many = anabranch("explain", *random_tuples(30), "--weights", "4,3,2").stdout.splitlines()
    assert many[0].split() == ["connection", "path"]
    assert all(re.search(r"  [123] of 3$", line) for line in many[1:31])
    sums = [line.split() for line in many[33:]]
    assert [line[:3] for line in sums] == [[str(path), "of", "3"] for path in (1, 2, 3)]
    assert [line[3] for line in sums] == ["44.44", "33.33", "22.22"]
    assert sum(int(line[4]) for line in sums) == 30


def test_the_connections_of_a_trace_are_summed_by_path_and_bytes(tmp_path: Path) -> None:
    rows = [f"{text},{size}" for size, text in enumerate(random_tuples(60), 1000)]
    trace = tmp_path / "flows.csv"
    trace.write_text("\n".join(["src,dst,proto,sport,dport,bytes", *rows]) + "\n")
    weights = ",".join(["1"] * 12)
    paths = [one["path"] for one in explained("--file", str(trace), "--weights", weights)]
    shown = anabranch("explain", "--file", str(trace), "--weights", weights).stdout.splitlines()
    assert shown[0].split() == ["connection", "bytes", "path"]
    assert [line.split()[1:3] for line in shown[1:61]] == [
        [f"{size:,}", str(path)] for size, path in enumerate(paths, 1000)
    ]
    sums = [line.replace(",", "").split() for line in shown[63:]]
    # Paths in the order of their numbers: 2 before 10.
    assert [int(line[0]) for line in sums] == sorted(set(paths))
    sizes = np.arange(1000, 1060)
    for line in sums:
        taken = np.array(paths) == int(line[0])
        assert [int(line[4]), int(line[6])] == [taken.sum(), sizes[taken].sum()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (f"{ONE}", "weights: missing"),
        ("--weights 1,1", "connections, file: both missing"),
        (f"{ONE} --file x.csv --weights 1,1", "connections, file: both given"),
        ("10.0.0.1,10.0.0.2,tcp,1 --weights 1,1", "10.0.0.1,10.0.0.2,tcp,1: 4 fields; write src,dst,proto"),
        ("10.0.0,10.0.0.2,tcp,1,2 --weights 1,1", "10.0.0: not an IP address"),
        ("10.0.0.1,10.0.0.2,tpc,1,2 --weights 1,1", "proto: tpc: unknown"),
        ("10.0.0.1,10.0.0.2,tcp,x,2 --weights 1,1", "port x: not a number"),
        ("10.0.0.1,10.0.0.2,tcp,1,70000 --weights 1,1", "dport: not whole numbers from 0 to 65535"),
        ("10.0.0.1,10.0.0.2,icmp,256,0 --weights 1,1", "type 256: not a number; give one from 0 to 255"),
        ("fd00::1,fd00::2,icmp6,1,x --weights 1,1", "code x: not a number; give one from 0 to 255"),
        ("10.0.0.1,fd00::1,tcp,1,2 --weights 1,1", "IPv4 beside IPv6"),
        (f"{ONE} --weights 1,1 --technique maglv", "technique: maglv: unknown; did you mean maglev?"),
        (f"{ONE} --weights 1,1 --hash xxh4", "hash: xxh4: unknown; did you mean xxh3?"),
        (f"{ONE} --weights 1,1 --target nft", "target: nft: unknown"),
        (f"{ONE} --weights 1,1 --param 3", "param: 3: not used without a target; give --target ovs too"),
        (f"{ONE} --weights 1,1 --target ovs --hash crc32", "hash: crc32: not used with a target"),
        (f"{ONE} --weights 1,1 --target ovs --bucket-ids 1,1", "bucket-ids: 1,1: not 2 different numbers"),
        (f"{ONE} --weights 1,300 --target ovs --method default", "do not fit 256 slots"),
        (f"{ONE} --weights 1,70000 --target ovs", "over OpenFlow's 65535"),
        (f"{ONE} --weights 1,1 --target ovs --method dp_hash --param 8589934592", "algorithm 2 is unknown"),
    ],
)
def test_errors_name_the_key_the_value_and_the_mend(arguments: str, message: str) -> None:
    run = anabranch("explain", *arguments.split())
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("anabranch: error: ")
    assert message in run.stderr
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("recipe", ["dp_hash", "default"])
def test_hints_for_a_plan_name_what_a_plan_has(tmp_path: Path, recipe: str) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[[group]]\nname = "a"\nmatch = {}\nseed = 1\nports = ["p1", "p2"]\nweights = [1, 300]\n'
        f'recipe = "{recipe}"\n'
    )
    run = anabranch("explain", ONE, "--plan", str(plan))
    assert run.returncode == 2
    assert "group 0xab010000: weights: they do not fit 256 slots" in run.stderr
    assert "--method" not in run.stderr
    hinted = re.findall(r'"([\w-]+)"', run.stderr.rpartition("; ")[2])
    assert hinted == ["dp_hash-twin", "hash-gravity"]
    for other in hinted:
        plan.write_text(plan.read_text().replace(f'"{recipe}"', f'"{other}"'))
        assert anabranch("explain", ONE, "--plan", str(plan)).returncode == 0
