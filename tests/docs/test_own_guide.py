"""Every block of `docs/own-scheme.md`, executed as its reader would."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from anabranch.simulate.study.outcome import open_study

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "own-scheme.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_all_blocks_are_known() -> None:
    known = sum(len(blocks(language)) for language in ("python", "sh", "toml", "text"))
    assert PAGE.read_text().count("```") == 2 * known


def test_python_does_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, str(PAGE), "exec"), names)
    said = capsys.readouterr()
    ecmp, own = (float(number) for number in said.out.split())
    assert min(ecmp, own) > 1
    assert own != ecmp
    shown = re.findall(r"^# ((?:TwoChoices|SmallPlb): .*)$", PAGE.read_text(), re.MULTILINE)
    assert len(shown) == 2
    numbers = re.compile(r"\d[\d.e+-]*")
    for line in shown:
        assert numbers.sub("#", line) in numbers.sub("#", said.err).splitlines()
    found = {path.name.rsplit("-", 1)[0] for path in (tmp_path / "runs").iterdir()}
    assert found == {f"leaf-spine{scheme}" for scheme in ("", "-FollowSpace", "-TwoChoices", "-SmallPlb", "-Margin")}


def test_the_small_plb_of_the_page_is_that_of_the_examples() -> None:
    assert (ROOT / "examples" / "own" / "small_plb.py").read_text() in blocks("python")


def fct_means(study: Path) -> dict[str, float]:
    every = open_study(study).summary.filter(pl.col("size_class") == "all")
    return dict(zip(every["routing.balance"], every["slowdown_mean"], strict=True))


@pytest.mark.slow
def test_the_crates_of_the_page_build_and_run() -> None:
    # Always in the same place, so that only the first time takes long.
    where = ROOT / "target" / "own-guide"
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    (where / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "CARGO_TARGET_DIR": str(ROOT / "target")}
    said = []
    for block in blocks("sh"):
        done = subprocess.run(
            ["bash", "-e", "-c", block], cwd=where, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert "unfinished flows, in no mean: ecmp 0, two-choices 0" in said[0]
    (shown,) = blocks("text")
    assert shown in said[1]
    means = fct_means(where / "runs" / "own-beside-house")
    assert means["SmallPlb"] == means["plb"]
    assert len(set(means.values())) == 4
    # The slow link is left alone by both kinds of CONGA.
    assert max(means["conga"], means["small-conga"]) < 0.9 * means["ecmp"]
