"""Every study folder, of all backends: it loads, names its source, and has claims that the judge takes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from anabranch import AnabranchError
from anabranch.files.toml_document import read_toml
from anabranch.reproduce.backends.backend import Prepared
from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.backends.door import backend
from anabranch.reproduce.claims.claim import Claim
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.group import BACKENDS, Group
from anabranch.reproduce.judge.judge import judge
from anabranch.reproduce.judge.line import AGREES, DIFFERS, INCOMPARABLE, NOT_RUN, RANKS
from anabranch.reproduce.selection import groups
from anabranch.reproduce.values.cells import Cells
from anabranch.reproduce.values.estimate import Band, Estimate, Estimates, Spread
from anabranch.reproduce.values.ranking import Ranking
from anabranch.simulate.load_balancers import schemes
from anabranch.simulate.study.study import load_study
from anabranch.simulate.study.sweep import check, resolve


@dataclass(frozen=True)
class Given(CellEvidence):
    """Evidence that comes to one value, whatever is measured."""

    value: float = 0.0

    def estimates(self, measure: Any) -> Estimates:  # noqa: ARG002
        """The value, known exactly."""
        mean = Estimate(self.value, self.value, self.value)
        return Estimates([mean], mean, [], 5, spread=Spread(Band(self.value, self.value, self.value), 0.0))

    def ranking(self, measure: Any) -> Ranking:
        """The order asked for, as it is or turned around."""
        schemes = [scheme for rank in measure.order for scheme in rank]
        wrong = [] if self.value else [(schemes[0], schemes[-1])]
        return Ranking([(scheme, Estimate(1.0, None, None)) for scheme in schemes], wrong, [], [], 1)

    def rivals(self, measure: Any) -> list[tuple[str, Any]]:  # noqa: ARG002
        """None: all of them would come to the one value."""
        return []


def prepared(group: Group, quick: bool, tmp_path: Path) -> Prepared:
    return backend(group).prepare(group, quick, tmp_path)


def kinds(claim: Claim) -> tuple[str, str]:
    """Verdicts where ours is what is published, and where it is far on the other side."""
    low = claim.low if claim.low is not None else (claim.high or 0.0) - 1.0
    high = claim.high if claim.high is not None else low + 1.0
    neutral = (claim.measure.neutral if claim.measure else None) or 0.0
    middle = (low + high) / 2
    below = claim.low is not None and middle >= neutral
    wrong = neutral - 1e6 if below else neutral + 1e6
    # A claim of no difference, or of a side alone, is met a step beyond it.
    middle += (claim.compare in ("rank", "sign")) * (1e-3 if below else -1e-3)
    evidence = Given(Cells({}, []), value=middle)
    plain = replace(claim, fair=None, fields={}, alternatives=(), theories=())
    return judge("p/f", plain, evidence).kind, judge("p/f", plain, replace(evidence, value=wrong)).kind


def test_all_backends_have_studies() -> None:
    assert {group.backend for group in groups()} == {*BACKENDS, "bins", "cycle", "meter", "splitter"}
    assert {group.label for group in groups() if group.backend == "lab"} == {
        "valo/lab",
        "valo/lab-fct",
        "wino/lab",
        "wino/lab-meters",
        "dbb/lab",
    }


@pytest.mark.parametrize("group", groups(), ids=lambda group: group.label)
def test_a_study_loads_names_its_source_and_can_be_judged(group: Group, tmp_path: Path) -> None:
    study = prepared(group, False, tmp_path)
    assert len(study.expected.source) > 20
    assert (group.folder / "README.md").is_file()
    assert study.quick_note == ""
    assert prepared(group, True, tmp_path).quick_note
    assert study.expected.claims
    for claim in study.expected.claims:
        assert all((claim.id, claim.what, claim.where, claim.text)), claim
        if claim.compare == "none":
            assert judge("p/f", claim, Given(Cells({}, []))).kind == INCOMPARABLE
        elif claim.compare == "order":
            plain = replace(claim, theories=())
            found = {judge("p/f", plain, Given(Cells({}, []), value=value)).kind for value in (0.0, 1.0)}
            assert found == {DIFFERS, AGREES}, claim
        else:
            right, wrong = kinds(claim)
            assert right in (AGREES, RANKS), claim
            assert wrong == DIFFERS, claim


@pytest.mark.parametrize("group", [group for group in groups() if group.backend == "lab"], ids=lambda one: one.label)
def test_claims_of_the_lab_name_what_its_experiment_has(group: Group, tmp_path: Path) -> None:
    """Nothing has run; a scheme or an axis that there is not would be refused all the same."""
    from anabranch.files.project.studies.dbb.lab import lab as dbb
    from anabranch.files.project.studies.valo.lab import evidence as valo
    from anabranch.files.project.studies.wino.lab import lab as wino

    study: Any = prepared(group, False, tmp_path)
    planned: dict[str, Callable[[], Cells]] = {
        "dbb/lab": lambda: dbb.cells([], 1, study.settings),
        "wino/lab": lambda: wino.cells([], study.settings.steps(group.folder)),
        "wino/lab-meters": lambda: study.settings.cells(),
        "valo/lab": lambda: valo.accuracy_cells({paths: [] for paths in study.settings.paths}),
        "valo/lab-fct": lambda: valo.completion_cells([], study.settings.workloads),
    }
    cells = planned[group.label]()
    for claim in study.expected.claims:
        if claim.measure is not None:
            assert judge(group.label, claim, CellEvidence(cells)).kind == NOT_RUN


def test_points_outside_winos_lab_are_told_from_runs_that_lack(tmp_path: Path) -> None:
    from anabranch.files.project.studies.wino.lab import lab as wino

    study = prepared(next(group for group in groups() if group.label == "wino/lab"), False, tmp_path)
    made = wino.cells([], study.settings.steps(study.group.folder))  # type: ignore[attr-defined]
    beside = {"scheme": "saps", "fabric": "N-S", "workload": "web search"}
    assert made.missing[made.cell({**beside, "load": 0.8}), 1] == "it has not run"
    assert made.missing[made.cell({**beside, "load": 0.6}), 1] == "N-S, web search, 0.6: the study does not have it"


def test_a_published_number_counts_once() -> None:
    """The same words about the same measure at another setting are one statement: `per`, `each` or `repeats`."""
    seen: dict[tuple[str, ...], str] = {}
    for group in [group for group in groups() if group.backend != "lab" and group.paper != "known"]:
        for row in read_toml(group.folder / "expected.toml")["claim"]:
            if row["compare"] == "none" or "repeats" in row:
                continue
            measure = {key: value for key, value in row["measure"].items() if key != "at"}
            key = (group.paper, row["id"], row["where"], row["text"], str(sorted(measure.items())))
            assert key not in seen, f"{group.label} {row['id']}: {row['what']}: as {seen[key]}"
            seen[key] = row["what"]
    assert len(seen) > 150


@pytest.mark.parametrize("label", ["known/symmetric", "known/degraded"])
def test_a_known_fabric_has_every_load_balancer_that_can_run_there(tmp_path: Path, label: str) -> None:
    """A load balancer is left out only where the scenario refuses it; `explicit` follows paths that its user writes."""
    (group,) = (group for group in groups() if group.label == label)
    study = read_toml(group.folder / "study.toml")
    named = {one["routing"]["balance"] for one in study["axes"]["scheme"].values()}
    left_out = {one.name for one in schemes() if one.setting == "routing.balance"} - named - {"explicit"}
    study["scenario"]["traffic"][0]["duration"] = "1 ms"
    study["axes"]["scheme"] = {name: {"routing": {"balance": name}} for name in sorted(left_out)}
    sweep = resolve(load_study(study), tmp_path)
    refused = check(list(sweep.jobs.values())).impossible
    assert {job.words for folder, job in sweep.jobs.items() if folder not in refused} == set()
    assert refused


def test_settings_that_are_known_to_be_chosen_are_marked() -> None:
    """VALO's load and WCMP's T, Wino's threshold, Luopan's probes: chosen knowing the answer, and told so."""
    marked: dict[str, set[str]] = {}
    for group in groups():
        for claim in load_expected(group.folder, read=backend(group).read_measure).claims:
            marked.setdefault(group.label, set()).update(claim.chosen)
    assert marked["valo/fct"] == {"load 0.6", "T = 24"}
    assert marked["valo/deep-learning"] == {"T = 24"}
    assert marked["valo/splitting"] == {"T = 24"}
    simulated = {group.label for group in groups() if group.backend == "simulator"}
    for label, names in marked.items():
        if label.startswith("wino/") and label in simulated:
            assert names == {"300 duplicates"}, label
        if label.startswith("luopan/") and label not in ("luopan/fig2", "luopan/overhead", "luopan/reuse"):
            assert names == {"probes overtake"}, label


def test_the_page_of_splitting_has_every_key_of_its_study() -> None:
    (group,) = (group for group in groups() if group.backend == "splitter")
    page = (group.folder / "README.md").read_text()
    assert [key for key in read_toml(group.folder / "study.toml") if f"| `{key}` |" not in page] == []


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (
            'backend = "lab"\ncode =',
            'backend = "laab"\n#',
            r"study.toml:2: backend: laab: unknown, and no `code`",
        ),
        (
            'code = "lab.py:DbbLab"',
            'code = "lab.py:Dbb"',
            r"study.toml:3: code: lab.py:Dbb: Dbb: no such class; did",
        ),
        ("draws = 5 ", "drwas = 5 ", r"study.toml:\d+: settings.drwas: unknown key; did you mean draws"),
        ("window_s = 6.0", "", "settings: window_s: missing"),
        ('title = "DBB', 'titel = "DBB', r"study.toml:6: titel: unknown key; did you mean title"),
    ],
)
def test_a_wrong_study_of_the_lab_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, named: str
) -> None:
    (real,) = (group for group in groups() if group.label == "dbb/lab")
    folder = tmp_path / "studies" / "other" / "lab"
    folder.mkdir(parents=True)
    text = (real.folder / "study.toml").read_text()
    assert old in text
    (folder / "study.toml").write_text(text.replace(old, new))
    for path in (real.folder / "expected.toml", *real.folder.glob("*.py")):
        shutil.copy(path, folder)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AnabranchError, match=named):
        prepared(next(group for group in groups() if group.label == "other/lab"), False, tmp_path)
