"""Page of `anabranch report`: one HTML file that needs nothing else."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from anabranch._core import VERSION
from anabranch.files.units import amount, bit_rate, count, pct, ratio
from anabranch.report.page.explore.payload import payload
from anabranch.report.page.figures import STEPS, Drawn
from anabranch.report.page.material import ABSENT, SEED, Material, flatten, text
from anabranch.report.page.step_section import step_section
from anabranch.report.page.web_page import LIBRARY, LIBRARY_STYLE, RUNS, render, source
from anabranch.report.plot.style import svg
from anabranch.report.tables.offered_table import record_rows
from anabranch.simulate.runs.class_table import class_rows
from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats.size_classes import SizeClass
from anabranch.simulate.stats.starts import last_start_ns
from anabranch.simulate.stats.tier_load import achieved
from anabranch.simulate.study.criteria import Criterion
from anabranch.simulate.study.outcome import short, summary_rows


def page(
    material: Material,
    classes: Sequence[SizeClass],
    figures: Sequence[Drawn],
    command: Sequence[str],
    criteria: Sequence[Criterion] = (),
) -> str:
    """The whole page as text; tables of a study show the criteria."""
    settings = [flatten(run.scenario) for run in material.runs]
    common = {key: value for key, value in settings[0].items() if all(one.get(key) == value for one in settings)}
    if material.pooled and SEED not in material.differing:
        common[SEED] = ", ".join(dict.fromkeys(text(run.scenario.get(SEED)) for run in material.runs))
    first = material.runs[0].manifest
    title = material.study.name if material.study else ", ".join(dict.fromkeys(run.name for run in material.runs))
    values = {
        "title": title,
        "data": payload(material, classes, title),
        "library_style": source(LIBRARY_STYLE),
        "labels": [one.label for group in material.groups for one in group.series],
        "material": material,
        "command": shlex.join(command),
        "facts": facts(material.runs),
        "tables": [
            (group.title, one.label if len(group.series) > 1 else "", class_rows(one.flows, classes))
            for group in material.groups
            for one in group.series
        ],
        "comparison": _comparison(material, criteria),
        "summary": None if material.study is None else summary_rows(material.study, criteria),
        "steps": step_section(material),
        "step_figures": [(drawn, svg(drawn.figure, drawn.caption)) for drawn in figures if drawn.name in STEPS],
        "figures": [
            (drawn, svg(drawn.figure, drawn.caption or drawn.heading)) for drawn in figures if drawn.name not in STEPS
        ],
        "loads": []
        if material.study
        else [
            (one.label, _loads(run))
            for group in material.groups
            for one, run in zip(group.series, group.runs, strict=True)
        ],
        "common": common,
        "definitions": first["definitions"],
        "columns": first["columns"],
        "warnings": list(dict.fromkeys(warning for run in material.runs for warning in run.manifest["warnings"])),
        "version": VERSION,
        "model_version": first["model_version"],
    }
    filters: dict[str, Callable[..., object]] = {"short": short, "amount": amount, "count": count, "pct": pct}
    return render("runs.html", RUNS, filters, values, [LIBRARY])


def facts(runs: Sequence[Run]) -> dict[str, tuple[str, str]]:
    """Facts at the top: name, amount, and a remark."""
    manifests = [run.manifest for run in runs]
    hops = sum(int(one["packet_hops"]) for one in manifests)
    cpu_s = sum(float(one["cpu_s"]) for one in manifests)
    sums = {name: sum(run.sums[name] for run in runs) for name in runs[0].sums}
    seeds = sorted({one["seed"] for one in manifests if one["seed"] is not None})
    return {
        "runs": (count(len(runs)), f"seeds {', '.join(map(str, seeds))}" if seeds else ""),
        "flows": (count(sums["flows"]), f"{count(sums['unfinished'])} unfinished"),
        "packet-hops": (count(hops), f"{hops / max(cpu_s, 1e-9) / 1e6:.1f} million per second and core"),
        "packets dropped": (count(sums["dropped_packets"]), f"{count(sums['marked_packets'])} marked"),
        "time": (f"{cpu_s:.1f} s", "of one core"),
        "memory": (amount(max(int(one["peak_rss_bytes"]) for one in manifests)), "most at once"),
    }


def _loads(run: Run) -> dict[str, Any]:
    offered = run.manifest["offered_load"]
    tiers = achieved(run.topology, run.measured_ports, last_start_ns(run.scanned_flows))
    header = ["achieved", "ports", "capacity", "mean %", "busiest port %"]
    rows = [
        [tier.direction, count(tier.ports), bit_rate(tier.capacity_bps), pct(tier.mean_pct), pct(tier.busiest_pct)]
        for tier in tiers
    ]
    return {"offered": record_rows(offered) if offered else None, "achieved": (header, rows)}


def _comparison(
    material: Material, criteria: Sequence[Criterion]
) -> tuple[str, list[tuple[str, list[str], list[list[str]]]]] | None:
    """Compared series, then for each measure its name, and a row per point: ratios with their intervals."""
    study = material.study
    if study is None or study.compared_axis is None:
        return None
    tables = []
    for measure in dict.fromkeys(one.measure for one in criteria):
        shown = [one for one in criteria if one.measure is measure]
        compared = study.comparison.filter(pl.col("statistic").is_in([one.column for one in shown]))
        present = set(compared.select("size_class", "statistic").rows())
        shown = [one for one in shown if (one.size_class, one.column) in present]
        if not shown:
            continue
        heads = [f"{one.size_class} {one.statistic}" if measure.by_class else one.statistic for one in shown]
        rows = []
        for point, part in compared.group_by(list(study.axes), maintain_order=True):
            ratios = {(row["size_class"], row["statistic"]): row for row in part.iter_rows(named=True)}
            keys = [(one.size_class, one.column) for one in shown]
            rows.append([*map(str, point), *(_ratio(ratios[key]) if key in ratios else ABSENT for key in keys)])
        better = "below" if measure.lower_is_better else "above"
        tables.append((f"{measure.words}: {better} 1 is better", [*map(short, study.axes), *heads], rows))
    return (f"{short(study.compared_axis)} {study.axes[study.compared_axis][0]}", tables) if tables else None


def _ratio(row: dict[str, Any]) -> str:
    words = ratio(row["ratio"])
    if row["ratio_low"] is None:
        return words
    return f"{words}\n{row['ratio_low']:.2f} - {row['ratio_high']:.2f}"
