"""`anabranch.Study`: a study made in Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from anabranch.files.atomic_file import write_whole
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.runs.html_table import html_table
from anabranch.simulate.runs.literal import file_text
from anabranch.simulate.runs.load import read_text
from anabranch.simulate.study.study import KEYS, UNNAMED, load_study, table_values
from anabranch.simulate.study.study import Study as Written
from anabranch.simulate.study.sweep import resolve

FOLDER = "runs"


class Study(MutableMapping[str, Any]):
    """A study: a dict with the keys of a study file, for `ab.sweep`.

    Args:
        given: A dict of the keys, or another study.
        scenario: A scenario file, an `ab.Scenario`, or a dict of a scenario's keys.
        axes: Values by key, as in `{"traffic.load": [0.3, 0.6], "routing.balance": ["ecmp", "letflow"]}`; for named
            values a dict of dicts, each with the keys that it changes.
        seeds: Number of seeds, a list of them, or text as in `"11:20"`.
        more_seeds: Points that have more of them: dicts with `seeds`, and `at`, a dict of lists of values by axis.
        name: Name of its folder of results.
        quick: Smaller study, as docs/study.md describes it.

    Raises:
        AnabranchError: a key that no study has.

    """

    def __init__(
        self,
        given: Mapping[str, Any] | None = None,
        /,
        *,
        scenario: str | Path | Mapping[str, Any] | None = None,
        axes: Mapping[str, Any] | None = None,
        seeds: int | str | Sequence[int] | None = None,
        more_seeds: Sequence[Mapping[str, Any]] | None = None,
        name: str | None = None,
        quick: Mapping[str, Any] | None = None,
    ) -> None:
        self.file = str(getattr(given, "file", UNNAMED))
        self._given: dict[str, Any] = {}
        values_by_key = {
            "name": name,
            "scenario": scenario,
            "axes": axes,
            "seeds": seeds,
            "more_seeds": more_seeds,
            "quick": quick,
        }
        self.update({**(given or {}), **{key: value for key, value in values_by_key.items() if value is not None}})

    @classmethod
    def from_toml(cls, path: str | Path) -> Study:
        """Reads a study file.

        Raises:
            AnabranchError: it is no study; the message has file, key, value and a hint.

        """
        load_study(path)
        study = cls()
        study.file = str(path)
        study.update(parse_toml(read_text(path), str(path)))
        study.setdefault("name", Path(path).stem)
        return study

    def to_toml(self, path: str | Path | None = None) -> str:
        """Text of the study file, written to `path` too if one is given.

        Raises:
            AnabranchError: it makes no sense as a study, or the file cannot be written.

        """
        resolve(self.resolve(), FOLDER)
        text = file_text({key: dict(value) if isinstance(value, Mapping) else value for key, value in self.items()})
        if path is not None:
            write_whole(Path(path), text)
        return text

    def resolve(self) -> Written:
        """Checks its keys and axes.

        Raises:
            AnabranchError: it makes no sense; the message has key, value and a hint.

        """
        return load_study(self)

    def show(self) -> None:
        """Prints axes with their values, seeds, cells, and warnings about cells before any runs.

        Raises:
            AnabranchError: it makes no sense, or a cell is no scenario.

        """
        from anabranch.files.terminal.console import terminal
        from anabranch.files.terminal.plain_table import plain_table

        console = terminal()
        header, rows = self._rows()
        table = plain_table(*((cell, False) for cell in header))
        for row in rows:
            table.add_row(*row)
        console.print(table)

    def __getitem__(self, key: str) -> Any:
        """Value of a key of the study file."""
        return self._given[key]

    def __setitem__(self, key: str, value: Any) -> None:
        """Sets a key of the study file.

        Raises:
            AnabranchError: no study has this key.

        """
        if key not in KEYS:
            raise AnabranchError(f"{self.file}: {key}: unknown key; {nearest(key, KEYS)}")
        self._given[key] = value

    def __delitem__(self, key: str) -> None:
        """Removes a key."""
        del self._given[key]

    def __iter__(self) -> Iterator[str]:
        """Names of the keys that are set."""
        return iter(self._given)

    def __len__(self) -> int:
        """Number of keys that are set."""
        return len(self._given)

    def __repr__(self) -> str:
        return f"Study({self._given!r})"

    def _repr_html_(self) -> str:
        """Axes, seeds and number of cells, or the error, for notebooks."""
        try:
            header, rows = self._rows()
        except AnabranchError as error:
            return f"<p><b>error</b>: {escape(str(error))}</p>"
        return html_table([escape(cell) for cell in header], [[escape(cell) for cell in row] for row in rows])

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        written = self.resolve()
        sweep = resolve(written, FOLDER)
        axes = table_values(written.axes)
        rows = [[axis, ", ".join(map(str, labels))] for axis, labels in axes.items()]
        rows += [["seed", ", ".join(map(str, written.all_seeds))], ["cells", str(len(sweep.cells))]]
        rows.append(["runs", f"{len(sweep.jobs)} different scenarios"])
        return ["axis", "values"], rows
