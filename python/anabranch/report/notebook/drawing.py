"""A figure that notebooks show by themselves, whatever matplotlib's settings are there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from anabranch.report.plot.style import save, svg


@dataclass(frozen=True)
class Drawing:
    """A drawing: `figure` is matplotlib's."""

    figure: Figure
    caption: str

    def save(self, path: str | Path) -> None:
        """Writes it into a .svg, .pdf or .png file."""
        save(self.figure, Path(path))

    def _repr_svg_(self) -> str:
        """The drawing, for notebooks."""
        return svg(self.figure, self.caption)
