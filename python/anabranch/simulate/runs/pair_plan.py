"""A load balancer's plan for a pair of leaves, before any packet is sent: facts and tables in its own words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch import _core
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.simulate.load_balancers import schemes
from anabranch.simulate.runs.load import read_text


@dataclass(frozen=True)
class Fact:
    """A value that concerns the whole pair; keys of programs end with the unit."""

    key: str
    title: str
    value: Any
    because: str
    """How the value comes about; empty if that is not short."""


@dataclass(frozen=True)
class Column:
    """One column of a table, or several."""

    key: str
    heading: str
    parts: Sequence[tuple[str, str]]
    """Name and heading of each part, where values are lists that fill a column for each of their parts."""


@dataclass(frozen=True)
class PlanTable:
    """One table of a plan."""

    key: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]

    @property
    def record(self) -> list[dict[str, Any]]:
        """The rows as plain data, by the keys of the columns."""

        def value(column: Column, given: Any) -> Any:
            names = [name for name, _ in column.parts]
            return dict(zip(names, given, strict=True)) if names else given

        return [
            {column.key: value(column, given) for column, given in zip(self.columns, row, strict=True)}
            for row in self.rows
        ]


@dataclass(frozen=True)
class PairPlan:
    """The plan of a load balancer for packets from one leaf to another."""

    balance: str
    pair: tuple[str, str]
    facts: Sequence[Fact]
    tables: Sequence[PlanTable]
    notes: Sequence[str]
    """Sentences to read before it is installed."""

    @property
    def record(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "balance": self.balance,
            "from": self.pair[0],
            "to": self.pair[1],
            **{fact.key: fact.value for fact in self.facts},
            "notes": list(self.notes),
            "tables": {table.key: table.record for table in self.tables},
        }


def planners() -> list[str]:
    """Load balancers whose controllers plan for pairs of leaves."""
    return _core.pair_planners()


def plan_pair(
    file: str | Path, balance: str, pair: tuple[str, str], overrides: Sequence[tuple[str, str]] = ()
) -> PairPlan:
    """Plans for packets between two leaves of a fabric.

    Args:
        file: a scenario, whose links are taken as they are when the run begins, or the controller's fabric file.
        balance: the load balancer.
        pair: the leaf that sends and the leaf that receives.
        overrides: keys of the file and their values as text, put in its stead.

    Raises:
        AnabranchError: bad input, a pair that no path joins, or a load balancer that plans for no pairs.

    """
    return plan_pair_of(read_text(file), str(file), balance, pair, overrides)


def plan_pair_of(
    text: str, file: str, balance: str, pair: tuple[str, str], overrides: Sequence[tuple[str, str]] = ()
) -> PairPlan:
    """Plans as `plan_pair` does, for a text that has been read; `file` names it in errors.

    Raises:
        AnabranchError: as `plan_pair`.

    """
    known = planners()
    if balance not in known:
        has_none = any(one.name == balance for one in schemes())
        hint = f"its controller makes no such plan; use one of {', '.join(known)}" if has_none else None
        raise AnabranchError(f"target: {balance}: {hint or f'unknown load balancer; {nearest(balance, known)}'}")
    facts, tables, notes = _core.plan_pair(text, file, balance, list(overrides), pair)
    return PairPlan(
        balance,
        pair,
        [Fact(*fact) for fact in facts],
        [PlanTable(key, title, [Column(*column) for column in columns], rows) for key, title, columns, rows in tables],
        notes,
    )
