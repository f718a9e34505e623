"""Files that no one should write, at every door: one line on stderr, status 2, and nothing that steers the terminal."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from anabranch import AnabranchError
from anabranch.cli import fail, main
from anabranch.files.terminal.console import SafeConsole
from anabranch.files.terminal.visible import shortened, visible

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
ESCAPE = "\\u001b[31m"
TOML: dict[str, bytes] = {
    "nested brackets": b"a = " + b"[" * 1000 + b"]" * 1000,
    "nested tables": b"a = " + b"{ a = " * 1000 + b"1" + b"}" * 1000,
    "endless integer": b"seed = " + b"9" * 4301,
    "control in a name": f'name = "a{ESCAPE}b\\u0007"\n[fabric]\nkind = "x{ESCAPE}"\n'.encode(),
    "control in a key": f'"a{ESCAPE}b" = 1\n'.encode(),
    "long word": b'name = 5\nfabric = "' + b"x" * 100_000 + b'"',
    "NUL": b'name = "a\x00b"\n',
    "not UTF-8": b'name = "\xff\xfe"\n',
    "endless float": b"seed = 1e999999\n",
}
DOORS: dict[str, list[str]] = {
    "run": ["run", "FILE", "--runs", "RUNS"],
    "show": ["show", "FILE"],
    "sweep": ["sweep", "FILE", "--runs", "RUNS"],
    "compare": ["compare", "ecmp", "conga", "--scenario", "FILE", "--runs", "RUNS"],
    "plan": ["plan", "--fabric", "FILE", "--target", "dbb"],
    "apply": ["apply", "FILE", "--target", "table"],
    "diff": ["diff", "FILE", "--target", "table"],
    "control": ["control", "FILE", "--once"],
}
GRAPHS: dict[str, tuple[str, bytes]] = {
    "GOAL": ("g.goal", b"num_ranks 2\nrank 0 {\n\x1b[31m: send 1b to 1\n}\n"),
    "matrix": ("g.cm", b"Nodes 2\n\x1b[31m 1\n"),
    "matrix number": ("g.cm", b"Nodes " + b"9" * 5000 + b"\n"),
    "layers": ("g.txt", b"HYBRID_TRANSFORMER all_gpus: 2\n1\na -1 \x1b[31m NONE 0 1 NONE 0 1 NONE 0 1\n"),
    "MSCCL nested": ("g.xml", b"<algo>" * 20_000 + b"</algo>" * 20_000),
    "Chakra name": ("g.0.et", b"\x02\n\x00\x08\x08\x01\x12\x02\x1b[\x18\x07"),
    "flow list": ("g.csv", b"src,dst,\x1b[31mproto\n1,2,3\n"),
    "endless CSV": ("g.csv", b"x" * 200_000),
}


def refused(arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr(sys, "argv", ["anabranch", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    told = capsys.readouterr()
    assert stopped.value.code == 2, told
    assert told.err.startswith("anabranch: error: ")
    assert not CONTROL.search((told.out + told.err).replace("\n", "")), repr(told)
    assert len(told.err) < 4000, "a value is shown whole, however long"
    assert told.err.count("\n") == 1, told.err
    return told.err


@pytest.mark.parametrize("content", TOML)
@pytest.mark.parametrize("door", DOORS)
def test_toml_is_refused_in_a_line(
    door: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "hostile.toml"
    file.write_bytes(TOML[content])
    places = {"FILE": str(file), "RUNS": str(tmp_path / "runs")}
    refused([places.get(word, word) for word in DOORS[door]], monkeypatch, capsys)


@pytest.mark.parametrize("kind", GRAPHS)
def test_graphs_and_lists_are_refused_in_a_line(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, content = GRAPHS[kind]
    (tmp_path / name).write_bytes(content)
    verb = ["split", "--paths", "2"] if name.endswith(".csv") else ["graph"]
    refused([verb[0], str(tmp_path / name), *verb[1:]], monkeypatch, capsys)


def test_a_graphml_file_of_endless_depth_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "deep.graphml").write_text("<graphml>" * 20_000 + "</graphml>" * 20_000)
    file = tmp_path / "s.toml"
    file.write_text('[fabric]\nkind = "graphml"\nfile = "deep.graphml"\n[[traffic]]\nload = 0.1\nduration = "1 ms"\n')
    assert "deep.graphml" in refused(["run", str(file)], monkeypatch, capsys)


def test_control_characters_are_shown_and_endless_words_shortened() -> None:
    assert visible("a\x1b[31mb\x07\x9b\u202ec\n\td") == "a\\x1b[31mb\\x07\\x9b\\u202ec\n\td"
    assert shortened("short " + "x" * 1001) == f"short {'x' * 60}... (1,001 letters)"
    assert shortened("x" * 1000) == "x" * 1000


def test_a_name_that_a_switch_gives_begins_no_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert fail(AnabranchError("bridge br0: port a\nanabranch: error: port b: gone")) == 2
    assert capsys.readouterr().err == "anabranch: error: bridge br0: port a\\nanabranch: error: port b: gone\n"


def test_tables_show_control_characters_and_keep_their_own_styles() -> None:
    table = Table("name")
    table.add_row("a\x1b[31mb", style="red")
    table.add_row("port[red]1")
    written: dict[type[Console], str] = {}
    for kind in (Console, SafeConsole):
        out = io.StringIO()
        kind(file=out, force_terminal=True, color_system="standard", width=60).print(table)
        written[kind] = out.getvalue()
    assert "\x1b[31mb" in written[Console], "rich itself lets it pass"
    assert "a\\x1b[31mb" in written[SafeConsole]
    assert "\x1b[31ma" in written[SafeConsole], "the style of the row"
    assert "port[red]1" not in written[Console], "rich itself takes it for a style"
    assert "port[red]1" in written[SafeConsole]
