"""The page of studies: `study.toml` of each backend, claims in `expected.toml`, and the rules of the verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from anabranch.cli.reference.keys import key_rows
from anabranch.cli.reference.markdown import GENERATED, code, table
from anabranch.files.settings import Key, asked
from anabranch.files.toml_document import parse_toml
from anabranch.reproduce.backends.experiment_settings import KEYS
from anabranch.reproduce.backends.lab.study import QUANTITIES
from anabranch.reproduce.backends.simulator.measured import SIMULATED
from anabranch.reproduce.claims.claim import COMPARISONS
from anabranch.reproduce.claims.quantity import LOWER_IS_BETTER, UNITS
from anabranch.reproduce.claims.schema import CELL_MEASURE, CLAIM, FIGURE, THEORY, TOP
from anabranch.reproduce.claims.schema import Key as ClaimKey
from anabranch.reproduce.judge.line import CHECKS, KINDS
from anabranch.simulate.study.study import load_study

LAB = {
    "backend": '`"lab"`.',
    "code": "Class of the lab, `FILE.py:CLASS`, from the study's folder; it inherits `LabBackend`.",
    "name": "Name of the study and of its folder of results.",
    "title": "Title, for the reader.",
    "experiment": "Name of what is measured. It is in the hash by which a record knows its study; `code` is not.",
    "settings": "How much is measured: the fields of the class's `settings`, a dataclass, all of them.",
    "quick": "Settings that `--quick` replaces, and a `note` on what is smaller.",
}
OWN = {
    "`LabBackend` (`anabranch.reproduce.backends.lab.study`)": "`settings`, a dataclass of the keys of `[settings]`, "
    "and `run(study, context)`, which returns `LabEvidence`",
    "`CellBackend` (`anabranch.reproduce.backends.cell_evidence`)": "`prepare`, which reads `study.toml`; its values "
    "stand in cells, and `quantities` may name those that it measures",
    "`ShortCellBackend` (`anabranch.reproduce.backends.short_cells`)": "the same, for a study that is short: a spot "
    "check runs all of it again",
    "`Backend` (`anabranch.reproduce.backends.backend`)": "`prepare`, `recall` and `read_measure`: evidence, records "
    "and measures of its own",
}
RULES = {
    "value": "Our whole interval must be within `tolerance` or `factor` of what is published, and on its side of no "
    "difference (1 for a ratio, 0 for a reduction, an increase or a difference). If all of it is outside, the claim "
    "*differs*, or holds on the *same side only*. A value of one scheme, or its change along an axis, must not be "
    "every other scheme's as well: such a claim *cannot discriminate*.",
    "rank": "Our interval must lie on the published side of no difference; the number is not compared. A `fair` "
    "measure must be on that side too. Where an interval of ratios or percents holds no difference and stays within 2 "
    "% of it, there is none to be seen, and the claim *differs*, unless the published number is as close.",
    "sign": "As `rank`, where the paper states no number: the claim *agrees*.",
    "order": "Schemes must come in the order of the measure, each pair compared on the same seeds, and settled.",
    "trials": "The published number must lie in the central 95 % of what as many trials of ours as the paper has would "
    "come to, half a unit of its last digit given away.",
    "none": "Nothing can be compared, for the `reason`.",
}
VERDICTS = {
    "agrees": "The rule holds for the whole interval.",
    "same side only": "The same side wins; the number is another one, or none can be compared.",
    "differs": "The rule does not hold for any of the interval; the cause follows, if it is known.",
    "undecided": "The interval holds both, or there are fewer than 5 seeds in a full run; how many seeds would decide "
    "it follows from their spread.",
    "cannot discriminate": "The number is met by every scheme of the study, so that it says nothing about one of them.",
    "cannot be compared": "The claim is about something that the backend does not measure, or that `--quick` makes "
    "too small for a number.",
    "not run": "A cell that the claim needs has not run: a scheme that this version does not have, or a point that "
    "`--quick` leaves out.",
    "ours is wrong": "Ours contradicts theory: the paper is not held against it.",
}
CHECKED = {
    "holds": "Ours is what a `[[theory]]` of the file, or of the backend, expects. Those of "
    "`valo/splitting` are closed forms in NumPy for the very weights that were drawn, five standard deviations of "
    "chance wide.",
    "within bounds": "Nothing expects our number, but every run behind it keeps the bounds that no network can pass: "
    "no flow is faster than its hosts' links, no port sends more than its rate allows, every packet is delivered, "
    "dropped, lost or left.",
    "no oracle": "Nothing is there to contradict our number: times of this machine, and what the lab measures.",
    "fails": "Our code is wrong. The claim is not judged, and the command's status is 1.",
}
EXAMPLE = """\
source = "Wang et al., Luopan, TPDS 2019"
fixed = 2026-11-22

[chosen]
"hold 500 us" = "time in the reordering buffer: the paper gives none"

[[theory]]
name = "presto shares"
what = "bytes of Presto over path P1, in percent"
source = "flowcells in turn over four paths"
between = [20, 30]
measure = { quantity = "share of bytes", ports = ["l>s0"], out_of = ["l>s0", "l>s1", "l>s2", "l>s3"], of = "presto" }

[[claim]]
id = "4.1"
what = "p99.9 FCT of mice below Presto's, web search"
where = "Fig. 9a, sec. 4.2"
text = "8 to 35 %"
paper = [8, 35]
compare = "value"
tolerance = 5
chosen = ["hold 500 us"]
main = true
measure = { quantity = "fct", class = "mice", statistic = "p99.9", of = "luopan", over = "presto", as = "reduction" }
quick = { statistic = "p99" }
"""


def simulator() -> dict[str, Key]:
    """Keys of the study of a simulation, by their paths."""
    more = "scenario = {}\naxes.scheme = [1]\nmore_seeds = [{ seeds = 2, at.scheme = [1] }]"
    return asked(lambda text, file: load_study(parse_toml(text, file)), [more])


def page() -> str:
    """The whole page."""
    return f"""# Studies and claims

{GENERATED}

A study is a folder `studies/PAPER/FIGURE/` with `study.toml` (what runs), `expected.toml` (what is published, and how
it is compared) and `README.md` (the set-up, and how we read what the paper leaves unsaid). `anabranch reproduce` runs
it and judges its claims; `anabranch sweep` takes the study file of a simulation by itself.

A backend yields values: the simulator, a lab, or code of the study's own. Claims, verdicts and reports are the same for
all. Studies of the lab need root and a machine that does nothing else: they run by `anabranch lab reproduce PAPER`
or by their own name (`anabranch reproduce dbb/lab`), not by `--all` or a paper's name.

## study.toml

### Simulator

{key_rows(simulator())}
### Lab

{_meanings(LAB, KEYS)}
### Code of a study's own

What knows one paper stands beside its study: `code = "lab.py:DbbLab"` in `study.toml` names a class of a file below
`studies/`, which is loaded when the study runs or its record is read, and leaves no bytecode there. Modules of a study
import each other by relative imports (`from .cases import CASES`), and of anabranch whatever they need.

{table(("the class inherits", "it says"), OWN.items())}
`backend` is `"lab"` for a lab, otherwise a name of the study's own. Such studies: `dbb/lab`, `valo/lab`,
`valo/lab-fct`, `wino/lab` and `wino/lab-meters` (labs), `wino/fig4` (meters of the simulator), `dbb/cycle`
(packets one by one, against the paper's own order), `luopan/reuse` (balls into bins), `valo/splitting` (weights and
connections split without a network; [its page](../studies/valo/splitting/README.md) has its keys and measures).

## expected.toml

```toml
{EXAMPLE}```

{_keys(TOP)}
### [[claim]]

{_keys(CLAIM)}
### [[theory]]

{_keys(THEORY)}
### measure of cells: of the simulator, of labs

{_keys(CELL_MEASURE)}
{_quantities()}
### [[figure]]

{_keys(FIGURE)}
## Two comparisons

Every claim is judged twice, in two columns.

### Ours against theory

{_meanings(CHECKED, CHECKS, "outcome")}
### The paper against ours

{_meanings(RULES, COMPARISONS, "compare", "rule")}
{_meanings(VERDICTS, KINDS, "verdict")}
A published number counts once: claims with `repeats`, and the further values of `per`, are shown and not counted.
Settings that were chosen knowing the answer stand below the verdict.

Intervals are Student's over seeds (draws of the lab); a ratio of schemes is paired on the same flows. Code of a study's
own may have others, and its page says which.

## Mutations: whether a verdict sees the mechanism

A verdict says something about a paper's mechanism only if it turns where the mechanism is broken. `anabranch reproduce
STUDY --mutations` runs the cells of each load balancer of the study once more for each of its mutations, with the key
[`routing.mutation`](scenario.md#mutation) added, whose page lists them; all other cells are those of the study as it
is, and run once. Claims and theory are judged anew, and a table has the verdict as it is and under each mutation. It is
in `report.html` and in `--json`, too. A verdict *turns* if it is another one, or if ours fails against theory. One that
agrees and that no mutation turns is listed apart, and is not counted as agreement with the mechanism.

With `--record` the table is kept in `record/mutations.json`, from a run with `--quick` as well, and says which. Then
`--recorded` and the papers' pages name for each claim what turns it: `-` where nothing does. Code of a study's own
gives its mutations by the method `mutated` of its backend; without it there are none.

## Records of full runs

`anabranch reproduce STUDY --record` runs a study in full and keeps its numbers in `record/` beside `study.toml`:
`cells.parquet` has a row per cell and seed and a column per quantity, `cells.json` the axes, `record.json` the version,
the model, the date, and a hash of what `study.toml` says of a full run (all but `quick` and `title`). No verdict is
kept. `anabranch reproduce PAPER --recorded` judges the numbers by the claims as they stand now, and runs nothing; it
says so if the study has changed since. A run with `--quick` names the claims on which the record says the opposite of
it. A test refuses a record of another study. The pages of [the papers](reproduced/valo.md) are written from the
records.

A claim that a record leaves undecided needs more seeds, and often in two cells of a hundred: `[[more_seeds]]` names
them, and `anabranch reproduce STUDY --record --grow 8` runs only what the record lacks, after eight of its cells have
run again and were the same to the last bit. It refuses where `study.toml` has changed in more than its seeds
(`record.json` has a second hash without them, `cells`), or the model has. The record says how many of its cells are of
an earlier day. The interval of one point is over the seeds of that point, that of a pair over those that both have, and
means and figures are over the seeds that all of their cells have.

A record is of the version that made it, and says so. `anabranch reproduce STUDY --spot-check 20` runs 20 of its cells
again, drawn by chance and always the same ones, in a folder of their own, and compares every number to the last bit of
single precision: if one in ten of a record's cells differed, 20 would miss it once in eight times. The status is 1 if a
number differs. With `--record`, a record that holds says so from then on. Labs and `valo/splitting` are left out:
their values are no cells of the simulator. A test does so with a cell of each paper, so that nobody changes what is
simulated without giving the model another number.
"""


def _keys(keys: Iterable[ClaimKey]) -> str:
    rows = ((code(key.name), key.kind, ("Required. " if key.required else "") + key.what) for key in keys)
    return table(("key", "value", "meaning"), rows)


def _meanings(meanings: Mapping[str, str], known: Collection[str], first: str = "key", second: str = "meaning") -> str:
    """A table of what is known to the code.

    Raises:
        ValueError: a name has no meaning here, or a meaning no name.

    """
    if set(meanings) != set(known):
        raise ValueError(f"without a meaning, or without a name: {sorted(set(meanings) ^ set(known))}")
    names = (f"*{name}*" if first in ("verdict", "outcome") else code(name) for name in known)
    return table((first, second), zip(names, (meanings[name] for name in known), strict=True))


def _quantities() -> str:
    better = {True: "lower", False: "higher", None: "-"}
    backends = (("simulator", SIMULATED), ("lab", QUANTITIES))
    rows = (
        (
            code(name),
            unit or "-",
            better[LOWER_IS_BETTER.get(name)],
            ", ".join(backend for backend, known in backends if name in known) or "a study's own",
        )
        for name, unit in UNITS.items()
    )
    return table(("quantity", "unit", "better", "backends"), rows)
