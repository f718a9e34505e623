"""`anabranch.Scenario`: a scenario made in Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch import _core
from anabranch.files.atomic_file import write_whole
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.own.override import taken_out_of_file
from anabranch.simulate.runs.literal import file_text
from anabranch.simulate.runs.load import UNNAMED, load, read_text
from anabranch.simulate.scenario.tables import ScenarioKeys

if TYPE_CHECKING:
    from anabranch.report.notebook.drawing import Drawing


class Scenario(ScenarioKeys):
    """A scenario: a dict with the keys of a scenario file, which are attributes too.

    `ab.Scenario(fabric={"leaves": 4}, traffic=[{"load": 0.6, "duration": "50 ms"}])` and
    `scenario.fabric.leaves = 4` write the same keys; docs/scenario.md has all of them. A key that is not set shows its
    default. A key that does not exist is refused at once; whether values make sense together is checked when the
    scenario is shown, written or run, by the reader of files and in its words.
    """

    file: str
    """File that it was read from: what it names is relative to it. `scenario` if it was made here."""

    def __init__(self, given: Mapping[str, Any] | None = None, /, **tables: Any) -> None:
        vars(self)["file"] = str(getattr(given, "file", UNNAMED))
        super().__init__(given, **tables)

    @classmethod
    def from_toml(cls, source: str | Path) -> Scenario:
        """Reads a scenario: a file, or its text if there is a line break in it.

        Raises:
            AnabranchError: it is no scenario; the message has file, line, key, value and a hint.

        """
        in_place: list[tuple[str, str]] = []
        if isinstance(source, str) and "\n" in source:
            text, file = source, UNNAMED
        else:
            text, file = read_text(source), str(source)
            in_place, _ = taken_out_of_file(source, ())
        _core.Scenario(text, file, in_place)
        scenario = cls()
        vars(scenario)["file"] = file
        scenario.update(parse_toml(text, file))
        return scenario

    def to_toml(self, path: str | Path | None = None) -> str:
        """Text of the scenario file with the keys that are set, written to `path` too if one is given.

        Raises:
            AnabranchError: it makes no sense as a scenario, or the file cannot be written.

        """
        self.resolve()
        text = file_text(self.to_dict(), f"{self.file}: ")
        if path is not None:
            write_whole(Path(path), text)
        return text

    def resolve(self) -> _core.Scenario:
        """Checks it and resolves it against its fabric.

        Raises:
            AnabranchError: it makes no sense; the message has key, value and a hint.

        """
        return load(self)

    @property
    def settings(self) -> dict[str, Any]:
        """Every key with its value, defaults included, as the folder of a run keeps them."""
        return parse_toml(self.resolve().resolved_toml(), self.file)

    @property
    def warnings(self) -> list[str]:
        """Sentences to read before it runs."""
        return self.resolve().warnings()

    def show(self) -> None:
        """Prints nodes, links, paths, changes, offered load and warnings, as `anabranch show` does."""
        from anabranch.files.terminal.console import terminal
        from anabranch.report.tables.show_table import show

        show(self.resolve(), terminal())

    def draw(self) -> Drawing:
        """Draws the fabric; notebooks show it, `.save("fabric.pdf")` writes it, `.figure` is matplotlib's."""
        from anabranch.report.notebook.drawing import Drawing
        from anabranch.report.plot.fabric import draw

        resolved = self.resolve()
        return Drawing(draw(resolved.topology()), f"fabric of {resolved.name}")

    def copy(self) -> Scenario:
        """A copy that shares nothing with the original."""
        return Scenario(self)

    def _repr_html_(self) -> str:
        """The keys that are set, the offered load and the warnings, for notebooks."""
        from anabranch.report.notebook.scenario_page import scenario_page

        return scenario_page(self.file, self.to_dict(), self.resolve)

    def _file(self) -> str:
        return self.file
