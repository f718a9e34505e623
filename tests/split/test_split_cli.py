"""`anabranch split` from the outside: files, fields, errors, exit status."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anabranch as ab
from support.command import anabranch

EXAMPLE = Path(__file__).parents[2] / "examples" / "datacenter.pcap.zst"
FIELDS = {"name", "asked", "got_connections", "got_bytes", "mape_pct", "floor_pct", "byte_mape_pct"}
FIELDS |= {"ns_per_decision", "state_bytes", "changes"}


@pytest.fixture(scope="module")
def everything() -> dict[str, Any]:
    """All techniques over a generated trace, with one change of each kind."""
    run = anabranch(
        *("split", "--generate", "datacenter:4000", "--weights", "4,3,2", "--seed", "3", "--json", "-"),
        *("--change", "4,3,1", "--fail", "2", "--add", "5"),
    )
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def test_json_has_every_technique_with_every_field(everything: dict[str, Any]) -> None:
    names = [technique["name"] for technique in everything["techniques"]]
    refused = {refusal["name"] for refusal in everything["refused"]}
    assert names == [technique.name for technique in ab.techniques() if technique.name not in refused]
    for technique in everything["techniques"]:
        assert set(technique) >= FIELDS
        assert technique["asked"] == pytest.approx([4 / 9, 3 / 9, 2 / 9])
        assert sum(technique["got_connections"]) == everything["trace"]["connections"] == 4000
        assert sum(technique["got_bytes"]) == everything["trace"]["bytes"]
        got = np.array(technique["got_connections"]) / 4000
        error = 100 * np.mean(np.abs(got - technique["asked"]) / technique["asked"])
        assert technique["mape_pct"] == pytest.approx(error)
        assert technique["ns_per_decision"] > 0
        assert technique["state_bytes"] > 0


def test_changes_move_at_least_what_they_must(everything: dict[str, Any]) -> None:
    for technique in everything["techniques"]:
        weights, fail, add = technique["changes"]
        assert (weights["kind"], fail["kind"], add["kind"]) == ("weights", "fail", "add")
        # Total variation of 4:3:2 to 4:3:1 and to 4:3:2:5.
        assert weights["minimum"] == round(4000 * (2 / 9 - 1 / 8))
        assert add["minimum"] == round(4000 * 5 / 14)
        if technique["spread_connections"] == 0:
            assert fail["moved"] >= fail["minimum"] > 0
    moved = {t["name"]: [c["moved"] / c["minimum"] for c in t["changes"]] for t in everything["techniques"][:1]}
    assert moved["min-move"] == pytest.approx([1, 1, 1], abs=0.12)


def test_the_same_command_gives_the_same_split(everything: dict[str, Any]) -> None:
    again = anabranch("split", "--generate", "datacenter:4000", "--weights", "4,3,2", "--seed", "3", "--json", "-")
    for first, second in zip(everything["techniques"], json.loads(again.stdout)["techniques"], strict=True):
        assert first["got_connections"] == second["got_connections"], first["name"]
        assert first["got_bytes"] == second["got_bytes"], first["name"]


def test_the_table_fits_a_terminal_and_names_every_technique() -> None:
    run = anabranch("split", str(EXAMPLE), "--weights", "4,3,2", "--change", "4,3,1", "--fail", "2", "--add", "5")
    assert run.returncode == 0, run.stderr
    table = run.stdout[run.stdout.index("technique") : run.stdout.index("error: of this trace")]
    assert max(len(line.rstrip()) for line in table.splitlines()) <= 100
    for technique in ab.techniques():
        assert technique.name in run.stdout
    assert "20,222 conversations, 40,422 directed 5-tuples" in run.stdout


def test_files_hold_what_was_found(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(
        'generate = "nat:2000"\nweights = [4, 3, 2.5]\ntechnique = ["min-move:slots=4096", "alias"]\nfail = 1\n'
    )
    outputs = ("--json", "o.json", "--csv", "o.csv", "--report", "o.html", "--quiet")
    run = anabranch("split", "job.toml", *outputs, cwd=tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    found = json.loads((tmp_path / "o.json").read_text())
    assert [technique["label"] for technique in found["techniques"]] == ["min-move:slots=4096", "alias"]
    rows = list(csv.DictReader((tmp_path / "o.csv").read_text().splitlines()))
    got = [int(row["got_connections"]) for row in rows if row["technique"] == "alias"]
    assert got == found["techniques"][1]["got_connections"]
    page = (tmp_path / "o.html").read_text()
    assert page.count("<svg") == 4
    # Names of XML, and where the library of the charts says that it is from: nothing that a browser would fetch.
    for said in (
        "http://www.w3.org",
        "http://purl.org",
        "http://creativecommons.org",
        "https://github.com/leeoniya/uPlot",
    ):
        page = page.replace(said, "")
    assert "http" not in page.replace("http-equiv", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job.toml", "o.csv", "o.html", "o.json"]


def test_options_win_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text('generate = "nat:2000"\nweights = "1,1"\ntechnique = "alias"\n')
    run = anabranch("split", "--weights", "job.toml", "--technique", "cdf", "--json", "-", cwd=tmp_path)
    assert [technique["name"] for technique in json.loads(run.stdout)["techniques"]] == ["cdf"]


def test_standard_input_is_read() -> None:
    with EXAMPLE.open("rb") as file:
        command = [sys.executable, "-m", "anabranch", "split", "-", "--weights", "1,1", "--technique", "cdf"]
        run = subprocess.run(command, stdin=file, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "standard input: 176,803 packets" in run.stdout


def test_standard_input_that_begins_with_text_is_a_flow_list(tmp_path: Path) -> None:
    rows = [f"10.0.{number}.1,10.1.0.1,tcp,{1000 + number},80,{1500 * number}" for number in range(1, 200)]
    text = "\ufeffsrc,dst,proto,sport,dport,bytes\n" + "\n".join(rows) + "\n"
    (tmp_path / "flows.csv").write_text(text)
    job = ("--weights", "2,1", "--technique", "cdf", "--json", "-")
    (by_name,) = json.loads(anabranch("split", "flows.csv", *job, cwd=tmp_path).stdout)["techniques"]
    for given in (text.encode(), gzip.compress(text.encode())):
        command = [sys.executable, "-m", "anabranch", "split", "-", *job]
        run = subprocess.run(command, input=given, capture_output=True, check=False)
        assert run.returncode == 0, run.stderr
        (by_content,) = json.loads(run.stdout)["techniques"]
        assert by_content["got_bytes"] == by_name["got_bytes"]
    run = subprocess.run(command, input=b"src,dst\n1.1.1.1,2.2.2.2\n", capture_output=True, text=False, check=False)
    assert (run.returncode, run.stdout) == (2, b"")
    assert b"standard input:1: " in run.stderr


def test_each_direction_is_a_connection_of_its_own() -> None:
    both = ab.read_trace(EXAMPLE)
    each = ab.read_trace(EXAMPLE, direction="each")
    assert len(each) == each.five_tuples == both.five_tuples
    assert len(both) == both.conversations == each.conversations
    assert both.bytes.sum() == each.bytes.sum()


def test_hashes_compares_every_hash_and_sees_through_affine_ones() -> None:
    run = anabranch("split", "hashes", str(EXAMPLE), "--json", "-")
    assert run.returncode == 0, run.stderr
    found = {quality["name"]: quality for quality in json.loads(run.stdout)["hashes"]}
    assert list(found) == [hash_.name for hash_ in ab.hashes()]
    assert found["crc8"]["lost_pct"] == pytest.approx(found["crc8"]["lost_expected_pct"], abs=0.01)
    # Even bins, and yet ruinous for scoring (SIGMETRICS 2025, section 6, tests the bins only).
    assert found["crc32"]["p_value"] > 1e-3
    assert found["crc32"]["scoring_mape_pct"] > 10 * found["crc32"]["floor_pct"]
    for mixing in ("murmur3", "wyhash32"):
        assert abs(found[mixing]["correlation"]) < 0.03
        assert found[mixing]["scoring_mape_pct"] < 5 * found[mixing]["floor_pct"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--weights 4,-3,2", "weights: path 2 has weight `-3`, which is negative"),
        ("--weights 0,0", "weights: all are zero"),
        ("--weights 4,x", "path 2 has weight `x`, which is not a number"),
        ("", "weights: missing; give one per path"),
        ("--weights 4,3 --fail 3", "fail: 3: no such path; give a number from 1 to 2"),
        ("--weights 4,3 --fail 0", "fail: 0: no such path"),
        ("--weights 4,0 --fail 1", "no path with a positive weight is alive"),
        ("--weights 4,3 --change 4", "change: 4: 1 weights for 2 paths"),
        ("--weights 4,3 --change 0,0", "change: 0,0: weights: all are zero"),
        ("--weights 4,3 --add -1", "which is negative"),
        ("--weights 4,3 --technique maglv", "technique: maglv: unknown; did you mean maglev?"),
        ("--weights 4,3 --technique maglev:sise=7", "has no parameter `sise`"),
        ("--weights 4,3 --technique maglev:7", "`7` is no key=value"),
        ("--weights 4,3 --hash xxh4", "hash: xxh4: unknown; did you mean xxh3?"),
        ("--weights 4,3 --direction bth", "direction: bth: unknown"),
        ("--weights 4,3 --encap iner", "encap: iner: unknown; did you mean inner?"),
        ("--weights 4,3 --seed -1", "seed: -1: out of range"),
        ("--weights 4,3 --colour red", "No such option: --colour"),
    ],
)
def test_errors_name_the_key_the_value_and_the_mend(arguments: str, message: str) -> None:
    run = anabranch("split", "--generate", "nat:100", *arguments.split())
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.startswith("anabranch: error: ")
    assert message in run.stderr
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("wieghts = [1]", "job.toml: wieghts: unknown key; did you mean weights?"),
        ("weights = [1,", "job.toml: "),
        ('weights = [true, 1]\ngenerate = "nat:10"', "job.toml: weights: [True, 1]: not numbers"),
        ("weights = [1, 2]", "job.toml: trace, generate: both missing"),
        ('weights = [1, 2]\ngenerate = "nat:10"\nhash = "md5"', "job.toml: hash: md5: unknown"),
        ('weights = [1, 2]\ngenerate = "nat:10"\nseed = 1.5', "job.toml: seed: 1.5: out of range"),
    ],
)
def test_errors_in_a_file_name_the_file(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(content)
    run = anabranch("split", "job.toml", cwd=tmp_path)
    assert run.returncode == 2
    assert message in run.stderr


def test_bad_traces_leave_no_file_behind(tmp_path: Path) -> None:
    (tmp_path / "empty.pcap").write_bytes(b"\xd4\xc3\xb2\xa1\2\0\4\0" + bytes(8) + b"\xff\xff\0\0\1\0\0\0")
    whole = subprocess.run(["zstd", "-dc", str(EXAMPLE)], capture_output=True, check=True).stdout
    (tmp_path / "cut.pcap").write_bytes(whole[:39])
    (tmp_path / "text.pcap").write_text("this is no capture")
    (tmp_path / "bad.csv").write_text("src,dst,proto,sport,dport\n10.0.0.1,10.0.0.2,tcp,80,x\n")
    expected = {
        "empty.pcap": "empty.pcap: no IP packet among 0",
        "cut.pcap": "cut.pcap: cut at byte 39",
        "text.pcap": "text.pcap: not a capture",
        "bad.csv": "bad.csv:2:",
        "none.pcap": "none.pcap: cannot be opened",
    }
    for name, message in expected.items():
        run = anabranch("split", name, "--weights", "4,3", "--json", "o.json", "--report", "o.html", cwd=tmp_path)
        assert run.returncode == 2, name
        assert message in run.stderr, run.stderr
        assert not list(tmp_path.glob("*o.*")), name


def test_an_unwritable_output_is_an_error(tmp_path: Path) -> None:
    run = anabranch("split", "--generate", "nat:100", "--weights", "1,1", "--csv", str(tmp_path / "no" / "o.csv"))
    assert run.returncode == 2
    assert "no/o.csv: there is no directory" in run.stderr
    assert "Traceback" not in run.stderr


def test_errors_show_what_was_written() -> None:
    run = anabranch("split", "--generate", "datacenter:abc", "--weights", "4,3")
    assert run.returncode == 2
    assert "datacenter:abc" in run.stderr
    run = anabranch("split", "--generate", "nat:100", "--weights", "4,3", "--json", "nowhere/out.json")
    assert run.returncode == 2
    assert "nowhere/out.json: there is no directory nowhere" in run.stderr
