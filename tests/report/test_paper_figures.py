"""Figures for papers: their size in print, letters that fit and can be read, colours for readers who see fewer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path

import matplotlib.text
import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from anabranch import AnabranchError
from anabranch.report.page.figures import draw
from anabranch.report.page.material import gather
from anabranch.report.plot import dodged, style
from anabranch.report.plot.sheet import COLUMNS, PAGE, drawn_on, sheet
from anabranch.report.plot.style import SERIES_COLOURS, SERIES_DASHES, line_style, save
from anabranch.simulate.stats.size_classes import size_classes
from support.command import anabranch
from support.synthetic_results import write_study, write_two_runs

WIDTH_POINTS = {1: 252.0, 2: 515.52}
"""Widths of one column and of both, 3.5 and 7.16 inches, in points of 1/72 inch."""
LETTERS_POINTS_MIN = 7.0
LONG_NAMES = ["ecmp", "weighted-spray", "letflow, gap 200 us", "conga", "drill", "hermes", "mine.py:Mine", "presto"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Two runs with queues and windows, and a study over loads."""
    return {
        "runs": [str(run) for run in write_two_runs(tmp_path_factory.mktemp("runs"))],
        "study": [str(write_study(tmp_path_factory.mktemp("study")))],
    }


def compared() -> Figure:
    """Eight schemes with long names at nine loads, as `anabranch compare` draws them."""
    loads = [f"{0.1 * step:.2g}" for step in range(1, 10)]
    values = [2.0 + step / 3 for step in range(len(loads))]
    ends = [value / 2 for value in values], [value * 1.5 for value in values]
    series = [dodged.Points(name, values, *ends, [True] * len(loads)) for name in LONG_NAMES]
    rows = [[dodged.Panel(f"fabric {name}", series) for name in ("fat-tree", "leaf-spine", "clos")]] * 2
    return dodged.draw(rows, loads, "load", ["mean slowdown", "slowdown p99"])


def figures(folders: dict[str, list[str]]) -> Iterator[tuple[str, Figure]]:
    """The first figure of every kind that reports and comparisons draw, on the sheet of the moment."""
    kinds = set()
    for names in folders.values():
        for drawn in draw(gather(names), size_classes()):
            kind = "-".join(drawn.name.split("-")[:2])
            if kind not in kinds:
                kinds.add(kind)
                yield drawn.name, drawn.figure
    yield "compared", compared()


def words(drawn: Figure) -> list[tuple[matplotlib.text.Text, Bbox]]:
    """Texts of a figure that are seen, with their boxes in pixels."""
    canvas = FigureCanvasAgg(drawn)
    canvas.draw()
    renderer = canvas.get_renderer()
    unseen = set(_beyond_ends(drawn))
    texts = [text for text in drawn.findobj(matplotlib.text.Text) if text.get_visible() and text not in unseen]
    said = [text for text in texts if isinstance(text, matplotlib.text.Text) and text.get_text().strip()]
    return [(text, text.get_window_extent(renderer)) for text in said]


def _beyond_ends(drawn: Figure) -> Iterator[matplotlib.text.Text]:
    """Names of ticks that are not drawn: beyond the ends of their axis, or of axes that are off."""
    for axes in drawn.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            room = 1e-9 * abs(high - low)
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not axes.axison or not low - room <= tick.get_loc() <= high + room:
                    yield from (tick.label1, tick.label2)
                if not axes.axison:
                    yield axis.label


@pytest.mark.parametrize("columns", [1, 2])
def test_figures_are_as_wide_as_columns_and_their_words_fit(folders: dict[str, list[str]], columns: int) -> None:
    with drawn_on(columns):
        drawn = dict(figures(folders))
        assert len(drawn) >= 9
        for name, one in drawn.items():
            assert 72.0 * one.get_size_inches()[0] == pytest.approx(WIDTH_POINTS[columns], abs=1e-9), name
            said = words(one)
            for text, extent in said:
                inside = one.bbox.padded(0.5)
                corners = [(extent.x0, extent.y0), (extent.x1, extent.y1)]
                assert all(inside.contains(*corner) for corner in corners), f"{name}: {text.get_text()!r} is cut"
                assert float(text.get_fontsize()) >= LETTERS_POINTS_MIN, f"{name}: {text.get_text()!r} is too small"
            for (text, box), (other, its) in combinations(said, 2):
                apart = box.x1 <= its.x0 or its.x1 <= box.x0 or box.y1 <= its.y0 or its.y1 <= box.y0
                assert apart, f"{name}: {text.get_text()!r} and {other.get_text()!r} cover each other"


@pytest.mark.parametrize("columns", [1, 2])
def test_a_file_has_the_size_of_its_figure_and_letters_of_truetype(columns: int, tmp_path: Path) -> None:
    with drawn_on(columns):
        save(compared(), tmp_path / "compared.pdf")
    content = (tmp_path / "compared.pdf").read_bytes()
    (box,) = re.findall(rb"/MediaBox \[([^\]]*)\]", content)
    assert [float(edge) for edge in box.split()[:3]] == [0.0, 0.0, WIDTH_POINTS[columns]]
    assert b"/FontFile2" in content, "letters are whole outlines inside the file"
    assert b"/Type3" not in content


def test_letters_in_svg_are_paths_which_need_no_font(tmp_path: Path) -> None:
    with drawn_on(1):
        save(compared(), tmp_path / "compared.svg")
    content = (tmp_path / "compared.svg").read_text()
    assert "<text" not in content
    assert "<!-- weighted-spray -->" in content
    assert 'width="252pt"' in content


def test_a_sheet_ends_where_its_block_does() -> None:
    with drawn_on(1):
        assert sheet() is COLUMNS[1]
        with drawn_on(None):
            assert sheet() is PAGE
        assert sheet() is COLUMNS[1]
    assert sheet() is PAGE
    with pytest.raises(AnabranchError, match=r"^columns: 3: a figure spans 1 column of a paper or 2; hint: "):
        drawn_on(3).__enter__()


def test_the_option_changes_files_and_not_the_page(folders: dict[str, list[str]], tmp_path: Path) -> None:
    out, files = tmp_path / "page.html", tmp_path / "files"
    options = ["--figures", str(files), "--format", "pdf", "--columns", "1"]
    done = anabranch("report", folders["runs"][0], "--out", str(out), *options)
    assert done.returncode == 0, done.stderr
    of_files = {re.findall(rb"/MediaBox \[ ?0 0 ([\d.]+)", path.read_bytes())[0] for path in files.iterdir()}
    of_page = set(re.findall(r'<svg[^>]* viewBox="0 0 ([\d.]+) [^>]*role="img"', out.read_text()))
    assert (of_files, of_page) == ({b"252"}, {"648"})
    done = anabranch("report", folders["runs"][0], "--out", str(tmp_path / "no.html"), "--columns", "3")
    assert done.returncode == 2
    assert not (tmp_path / "no.html").exists()


# How people see colours who lack one kind of cone: Machado, Oliveira, Fernandes, "A Physiologically-based Model for
# Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009, severity 1.0, on linear RGB.
SEEN_BY = {
    "all three cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
APART = {"all three cones": 25.0, "protanopia": 18.0, "deuteranopia": 18.0, "tritanopia": 13.0}
"""Least distance in CIELAB; 2.3 is what people just notice beside each other."""
STEP_APART = 13.0
"""The same of neighbouring colours of load, which stand for neighbouring values."""
CONTRAST_MIN = 3.0
"""Least contrast of a graphic against its ground (WCAG 2.1, 1.4.11)."""

# sRGB with linear components to XYZ under D65, and the white of D65 (IEC 61966-2-1).
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = TO_XYZ.sum(axis=1)

Vector = npt.NDArray[np.float64]


def linear(colour: str) -> Vector:
    """Linear red, green and blue of a colour such as `#3078d8`."""
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb: Vector) -> Vector:
    """CIELAB of a colour (CIE 15)."""
    ratio = TO_XYZ @ rgb.clip(0, 1) / WHITE
    x, y, z = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def nearest(colours: tuple[str, ...], seen_by: str) -> float:
    """Distance of the two colours that are most alike for some eyes."""
    seen = [lab(SEEN_BY[seen_by] @ linear(colour)) for colour in colours]
    return min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2))


def test_the_conversion_knows_published_values() -> None:
    # Red of sRGB, and the grey that an achromatic colour stays for every eye.
    assert lab(linear("#ff0000")) == pytest.approx([53.24, 80.09, 67.20], abs=0.05)
    assert lab(linear("#808080")) == pytest.approx([53.59, 0.0, 0.0], abs=0.05)
    for matrix in SEEN_BY.values():
        assert lab(matrix @ linear("#808080")) == pytest.approx([53.59, 0.0, 0.0], abs=0.05)
    # Red and green of one lightness are what such eyes cannot tell apart.
    assert nearest(("#c00000", "#4d7c0f"), "protanopia") < nearest(("#c00000", "#4d7c0f"), "all three cones") / 3


def of_page(variable: str) -> list[tuple[str, str]]:
    """Colours of the page's variables of a name, light and dark."""
    sheet_of_styles = Path(style.__file__).parents[1] / "page" / "templates" / "page.css"
    return re.findall(rf"--{variable}: light-dark\((#[0-9a-f]{{6}}), (#[0-9a-f]{{6}})\)", sheet_of_styles.read_text())


PALETTES = {
    "figures": (SERIES_COLOURS, "#ffffff"),
    "page": (tuple(light for light, _ in of_page(r"series-\d")), of_page("paper")[0][0]),
    "page, dark": (tuple(dark for _, dark in of_page(r"series-\d")), of_page("paper")[0][1]),
}
"""Colours of series, and the ground that they stand on."""


def contrast(one: str, other: str) -> float:
    """Contrast of two colours (WCAG 2.1)."""
    low, high = sorted(float(linear(colour) @ TO_XYZ[1]) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("eyes", SEEN_BY)
def test_colours_of_series_are_apart_for_all_eyes(palette: str, eyes: str) -> None:
    colours, _ = PALETTES[palette]
    assert len(colours) == len(SERIES_COLOURS)
    assert nearest(colours, eyes) >= APART[eyes]


@pytest.mark.parametrize("palette", PALETTES)
def test_colours_of_series_stand_out_from_their_ground(palette: str) -> None:
    colours, ground = PALETTES[palette]
    for colour in colours:
        assert contrast(colour, ground) >= CONTRAST_MIN, colour


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_words_of_the_page_stand_out_from_their_ground(theme: int) -> None:
    """WCAG 2.1, 1.4.3: 4.5 for text of usual size."""
    ground = of_page("paper")[0][theme]
    for variable in ("ink", "faint", "accent", "amber", "floor", "dead"):
        assert contrast(of_page(variable)[0][theme], ground) >= 4.5, variable


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("eyes", SEEN_BY)
def test_colours_of_load_go_one_after_the_other_for_all_eyes(eyes: str, theme: int) -> None:
    """Stops that follow each other can be told apart."""
    seen = [lab(SEEN_BY[eyes] @ linear(pair[theme])) for pair in of_page(r"heat-\d")]
    assert len(seen) == 5
    for one, other in pairwise(seen):
        assert float(np.linalg.norm(one - other)) >= STEP_APART


def test_series_differ_without_colours_too() -> None:
    lines = [(line_style(index)["color"], line_style(index)["ls"]) for index in range(4 * len(SERIES_COLOURS))]
    assert len(set(lines)) == len(lines)
    dashes = [line_style(index)["ls"] for index in range(len(SERIES_COLOURS))]
    assert len(set(dashes[: len(SERIES_DASHES)])) == len(SERIES_DASHES)
    assert all(one != other for one, other in pairwise(dashes))
    assert len(set(dodged.MARKS)) == len(dodged.MARKS) == len(SERIES_COLOURS)


def test_the_page_of_a_report_has_the_same_colours_on_white() -> None:
    assert PALETTES["page"] == PALETTES["figures"]


def test_loads_stand_at_their_numbers_and_categories_beside_each_other() -> None:
    def drawn(positions: list[str]) -> tuple[list[list[float]], list[list[float]]]:
        """Places of the marks, and of the lines that join several."""
        values = [2.0, 3.0, 4.0]
        series = [dodged.Points(name, values, values, values, [True] * 3) for name in ("a", "b")]
        (axes,) = dodged.draw([[dodged.Panel("", series)]], positions, "", ["mean"]).axes
        lines = [(line, np.asarray(line.get_xdata(), dtype=float).tolist()) for line in axes.get_lines()]
        marks = [places for line, places in lines if line.get_marker() not in ("", "None")]
        return marks, [places for _, places in lines if len(set(places)) > 1]

    marks, joined = drawn(["0.3", "0.5", "0.9"])
    assert marks == [[0.3], [0.5], [0.9]] * 2
    assert joined == [[0.3, 0.5, 0.9]] * 2
    marks, joined = drawn(["fat-tree", "clos", "rail"])
    assert len({place for (place,) in marks}) == 6
    assert joined == []
