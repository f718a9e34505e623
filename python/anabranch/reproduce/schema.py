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
        "classes", "table", 'Size classes of flows by name: `{ above = "64 KB", upto = "10 MB" }`. `all` always exists.'
    ),
    Key("claim", "list of tables", "Published statements, one `[[claim]]` each.", required=True),
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
    Key("compare", "text", "Rule of the verdict: `value`, `rank`, `order`, `theory` or `none`; see below.", True),
    Key(
        "tolerance",
        "number",
        "Distance from the published number or range that still agrees, in the unit of the measure. Required for "
        "`value` unless `factor` is given. Default with `factor` and for `theory`: half a unit of the last digit of "
        "`paper`.",
    ),
    Key("factor", "number", "Factor, above 1, by which our value may be larger or smaller and still agrees."),
    Key(
        "measure",
        "table",
        "Value to measure; its keys depend on the backend, see below. Required unless `compare` is `none`.",
    ),
    Key(
        "fair",
        "table",
        "Second measure, of a competitor as one would build it today in place of the published one. With `rank` it "
        "must come out on the published side too.",
    ),
    Key("quick", "table", "Keys of `measure` that are replaced in a run with `--quick`."),
    Key("reason", "text", "Reason why nothing can be compared. Required if `compare` is `none`."),
    Key(
        "because",
        "text or table",
        "Cause of a difference, once it has been found. A table has a text for each outcome: `agrees`, `above` (the "
        "paper's number is too high), `below`, `differs` (any other difference), `fair` (the fair competitor is on "
        "the other side). Braces are filled in with numbers measured now: `{paper}`, `{ours}`, `{fair}`, `{theory}`, "
        "`{low}` and `{high}` (ends of theory's band), `{times}` (paper over theory, or over ours), `{effective}` "
        "(connections for which theory would give the paper's error), and the names in `fields`.",
    ),
    Key("fields", "table of measures", "Further numbers that `because` names."),
    Key(
        "alternatives",
        "list of tables",
        "Other readings of the paper, each with a `text` and a `measure`. A difference reports which of them theory "
        "finds to give the published number.",
    ),
    Key(
        "printed",
        "[numerator, denominator]",
        "Two numbers printed elsewhere in the paper. The verdict notes if their ratio is not the one claimed.",
    ),
)

CELL_MEASURE = (
    Key("quantity", "text", "Quantity to measure; see the list below.", True),
    Key("class", "text", "Size class of the flows that count. Default: `all`."),
    Key("statistic", "text", "`mean`, a percentile such as `p99`, or one over another: `p99/mean`. Default: `mean`."),
    Key("ports", "list of texts", 'Ports whose bytes count, for `share of bytes`: `["leaf0>spine0"]`.'),
    Key("out_of", "list of texts", "Ports whose bytes are 100 %, for `share of bytes`."),
    Key(
        "of",
        "text or table",
        'Cells to measure: a value of the axis `scheme`, or values by axis: `{ scheme = "vms", traffic.load = 0.9 }`.',
    ),
    Key("over", "text or table", "Cells to compare with. Cells are paired by seed and by the axes that neither names."),
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

SPLITTER_MEASURE = (
    Key("of", "text or list", "Name of a value, or several of which the mean counts.", True),
    Key("over", "text", "Name of the value to divide by."),
    Key("weights", "[low, high]", "Limits of the random weights of theory. Default: those of the study."),
    Key(
        "scoring",
        "number",
        "Published error of scoring over two paths, in percent. Theory is then the least error of random splitting "
        "on the same weights (Jensen's inequality).",
    ),
)

FIGURE = (
    Key("title", "text", "Title of the figure.", True),
    Key("x", "text", "Axis of the study along which the figure is drawn.", True),
    Key("series", "text", "Axis of which each value has a curve or a colour of bars."),
    Key("at", "table", "Axes that are held, with a value each."),
    *(key for key in CELL_MEASURE if key.name in ("quantity", "class", "statistic", "ports", "out_of")),
)
