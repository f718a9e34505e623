"""Keys of `expected.toml`: what each means, once for the reader, the errors and the reference page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Key:
    """One key of a table."""

    name: str
    kind: str
    """Type of its value."""
    what: str
    """Meaning, as complete sentences."""
    required: bool = False


TOP = (
    Key("source", "text", "Publication that the claims are taken from."),
    Key(
        "fixed",
        "date",
        "Date on which statistics and tolerances of the claims were fixed, before a full run: `2026-11-22`.",
        required=True,
    ),
    Key("own", "true", "The claims are this project's, of no publication: their verdicts are shown and not counted."),
    Key(
        "chosen",
        "table of texts",
        "Settings of the study that were chosen knowing the published answer, by name. The verdicts of the claims that "
        "name one carry its name; so do those at a value of `per` of that name.",
    ),
    Key(
        "classes", "table", 'Size classes of flows by name: `{ above = "64 KB", upto = "10 MB" }`. `all` always exists.'
    ),
    Key("claim", "list of tables", "Published statements, one `[[claim]]` each.", required=True),
    Key(
        "theory",
        "list of tables",
        "Values that ours must have whatever the paper says, one `[[theory]]` each. If one fails, our code is wrong, "
        "the claims that name it are not judged, and the command's status is not 0.",
    ),
    Key("figure", "list of tables", "Figures to draw, one `[[figure]]` each."),
)

CLAIM = (
    Key("id", "text", "Number of the statement in the paper's list of claims. Several claims may share one.", True),
    Key("what", "text", "Statement in a few words.", True),
    Key("where", "text", "Figure, table or section of the paper.", True),
    Key("text", "text", "Statement as printed, with its unit.", True),
    Key("paper", "number or [low, high]", "Published number or range, in the unit of the measure."),
    Key("least", "number", "Published lower bound, where there is no upper one."),
    Key("most", "number", "Published upper bound, where there is no lower one."),
    Key(
        "compare",
        "text",
        "Rule of the verdict: `value`, `rank`, `sign`, `order`, `trials` or `none`; see below.",
        True,
    ),
    Key(
        "tolerance",
        "number",
        "Distance from the published number or range that still agrees, in the unit of the measure. Required for "
        "`value` unless `factor` is given. Default with `factor` and for `trials`: half a unit of the last digit of "
        "`paper`. It carries no range across no difference.",
    ),
    Key(
        "factor",
        "number",
        "Factor, above 1, by which our value may be larger or smaller and still agrees. It carries no range across no "
        "difference.",
    ),
    Key(
        "per",
        "table",
        'Axis and its values, each of which has a verdict of its own: `{ loss = ["3 duplicates", "RACK"] }`. The '
        "published number counts at the first.",
    ),
    Key("fixed", "date", "Date of this claim's statistic and tolerance, where it is not the file's."),
    Key("main", "true", "The claim carries the paper's main statement: the report's header shows its verdict."),
    Key("chosen", "list of texts", "Names in the file's table `chosen` on which the verdict depends."),
    Key(
        "theory",
        "text or list of texts",
        "Names of the file's `[[theory]]` that ours must pass before the claim is judged.",
    ),
    Key(
        "repeats",
        "text",
        "Claim of another study that states the same published number: `PAPER/FIGURE ID`. The verdict is shown and not "
        "counted again.",
    ),
    Key(
        "measure",
        "table",
        "Value to measure; its keys depend on the backend, see below. Required unless `compare` is `none`.",
    ),
    Key(
        "fair",
        "table",
        "Second measure, of a competitor as one would build it today in place of the published one. With `rank` and "
        "`sign` its interval must lie on the published side too.",
    ),
    Key(
        "quick",
        "table",
        "Keys of `measure` that are replaced in a run with `--quick`. What is measured then is another claim: the "
        "verdict says so, and judges its side only.",
    ),
    Key("reason", "text", "Reason why nothing can be compared. Required if `compare` is `none`."),
    Key(
        "because",
        "text or table",
        "Cause of a difference. A table has a text for each outcome: `agrees`, `above` (the paper's number is too "
        "high), `below`, `differs` (any other difference), `fair` (the fair competitor is on the other side). A text "
        "is computed from the run: braces are filled in with numbers measured now: `{paper}`, `{ours}`, `{fair}`, "
        "`{theory}` (the oracle's value), `{low}` and `{high}` (ends of the band of `trials`), `{times}` (paper over "
        "the band's middle, or over ours), `{effective}` (connections for which theory would give the paper's error), "
        "and the names in `fields`, which come before these. A text without braces is a table `{ text, shown_by }`, "
        "whose `shown_by` is the command that shows it. In place of a text stands a list of them where the cause "
        "depends on the numbers: the first counts whose condition `when` holds, as in "
        '`{ text, when = "paper > room" }`, or which has none.',
    ),
    Key(
        "fields",
        "table of measures",
        "Further numbers that `because` names, at the verdict's value of `per` where a measure names no other.",
    ),
    Key(
        "alternatives",
        "list of tables",
        "Other readings of the paper, each with a `text` and a `measure`. A difference reports which of them give the "
        "published number.",
    ),
    Key(
        "printed",
        "[numerator, denominator]",
        "Two numbers printed elsewhere in the paper. The verdict notes if their ratio is not the one claimed.",
    ),
)

THEORY = (
    Key("name", "text", "Name that claims use.", True),
    Key("what", "text", "Statement in a few words.", True),
    Key("source", "text", "Formula, invariant or implementation that expects it.", True),
    Key(
        "between",
        "[low, high]",
        "Ends that our mean must not leave; where the measure has `across`, the points that it names.",
        True,
    ),
    Key("measure", "table", "Value to measure, as a claim's.", True),
)

CELL_MEASURE = (
    Key("quantity", "text", "Quantity to measure; see the list below.", True),
    Key("class", "text", "Size class of the flows that count. Default: `all`."),
    Key("statistic", "text", "`mean`, a percentile such as `p99`, or one over another: `p99/mean`. Default: `mean`."),
    Key(
        "ports",
        "list of texts",
        'Ports that count, for `share of bytes`, `utilisation` and `peak backlog`: `["leaf0>spine0"]`; those of a path '
        "in turn, for `path delay`.",
    ),
    Key(
        "out_of",
        "list of texts",
        "Ports whose bytes are 100 %, for `share of bytes`; a path whose delay is 1, for `path delay`.",
    ),
    Key(
        "weights",
        "list of numbers",
        "Weight of each of the `ports`, for `split deviation` and `packet deviation`; KB that may wait at each, for "
        "`peak backlog`, which is then the largest multiple of it.",
    ),
    Key(
        "counts",
        "list of texts",
        "Counts of the load balancer that are added up, for `decisions`, by their names under `balancer` in a run's "
        "manifest.",
    ),
    Key(
        "of",
        "text, list or table",
        'Cells to measure: a value of the axis `scheme`, or values by axis: `{ scheme = "NAME", traffic.load = 0.9 }`. '
        "Of a list of schemes the one counts that is worst on average over all seeds; the verdict names it.",
    ),
    Key("over", "text or table", "Cells to compare with. Cells are paired by seed and by the axes that neither names."),
    Key(
        "beside",
        "table",
        "Second pair of cells, `{ of = ..., over = ... }`, by whose ratio that of the first is divided: a growth "
        "beside another.",
    ),
    Key(
        "as",
        "text",
        "`value`, or with `over`: `ratio`, `reduction` (percent smaller), `increase` (percent larger), `difference`. "
        "Default: `value`; with `over`, `ratio`.",
    ),
    Key("at", "table", "Axes that are held, with one value or several."),
    Key(
        "across",
        "text",
        "Combination of the points of the other axes: `mean` (geometric for ratios), `least`, `most`, or `each` (from "
        "the least to the most). Default: `mean`.",
    ),
    Key("along", "text or list", "Axes whose values make points; the others are averaged within. Default: all."),
    Key("order", "list", 'Schemes, best first, for `compare = "order"`. Those of an inner list are not compared.'),
)

FIGURE = (
    Key("title", "text", "Title of the figure.", True),
    Key("x", "text", "Axis of the study along which the figure is drawn.", True),
    Key("series", "text", "Axis of which each value has a curve or a colour of bars."),
    Key("y", "text", "Axis down the side, which makes the figure a map of ratios. It needs `over`."),
    Key("over", "text", "Scheme that a map divides by, on the same seeds."),
    Key("at", "table", "Axes that are held, with a value each."),
    *(
        key
        for key in CELL_MEASURE
        if key.name in ("quantity", "class", "statistic", "ports", "out_of", "weights", "counts")
    ),
)
