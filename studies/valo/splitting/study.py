"""A study of splitting: what to run (`study.toml`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.files.toml_document import read_toml
from anabranch.split.request import Choice

FILE = "study.toml"
MODELS = ("equal", "exact", "volumes", "turns", "replicas", "proportional", "served", "none")
EXPERIMENTS = ("default", "weights", "load", "paths", "small")


@dataclass(frozen=True)
class Sweep:
    """Points of an accuracy experiment: every number of paths with every number of connections."""

    name: str
    points: tuple[tuple[int, int], ...]
    """(paths, connections)"""


@dataclass(frozen=True)
class Cost:
    """Loads and path counts at which the cost of a decision is measured."""

    techniques: tuple[Choice, ...]
    connections: tuple[int, ...]
    paths: tuple[int, ...]
    paths_connections: int
    packets: int
    packets_list: int
    repetitions: int
    process_bytes: int


@dataclass(frozen=True)
class Changes:
    """Weight changes per second under load."""

    techniques: tuple[Choice, ...]
    per_second: tuple[int, ...]
    connections: int
    paths: int
    packets_per_second: int


@dataclass(frozen=True)
class Hashes:
    """The hash comparison."""

    names: tuple[str, ...]
    connections: int
    weights: tuple[int, ...]


@dataclass(frozen=True)
class Validation:
    """Scoring's counts against the volumes of the score graph."""

    source: str
    connections: int
    weights: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Study:
    """Everything that fixes a run."""

    name: str
    title: str
    paper: str
    folder: Path
    quick: bool
    seed: int
    sources: tuple[str, ...]
    pool: int
    hash: str
    weight_range: tuple[int, int]
    techniques: dict[Choice, str]
    """With the model that describes each; one of `MODELS`."""
    trials: int
    published_trials: int
    """Trials behind a mean of the paper, whatever this run does."""
    sweeps: dict[str, Sweep]
    validation: Validation
    cost: Cost
    changes: Changes
    hashes: Hashes


def choice(label: str) -> Choice:
    """The technique behind `wrr:order=block`."""
    name, *parameters = label.split(":")
    pairs = tuple((key, value) for key, _, value in (parameter.partition("=") for parameter in parameters))
    return Choice(name, pairs)


def load(folder: Path, quick: bool) -> Study:
    """Reads a study.

    Raises:
        AnabranchError: a key that is missing or has a value that cannot be run.

    """
    path = folder / FILE
    data = read_toml(path)
    try:
        return _study(data, folder, quick)
    except KeyError as error:
        raise AnabranchError(f"{path}: key {error} is missing") from None
    except (TypeError, ValueError) as error:
        raise AnabranchError(f"{path}: {error}") from None


def _study(data: dict[str, Any], folder: Path, quick: bool) -> Study:
    suffix = "_quick" if quick else ""
    accuracy, cost, changes, hashes = data["accuracy"], data["cost"], data["changes"], data["hashes"]
    validation, connections = data["validation"], data["connections"]
    for label, model in data["techniques"].items():
        if model not in MODELS:
            raise ValueError(f"techniques: {label}: `{model}` is no model; use one of {', '.join(MODELS)}")
    sweeps = {
        name: Sweep(name, tuple((p, c) for p in accuracy[name]["paths"] for c in accuracy[name]["connections"]))
        for name in EXPERIMENTS
    }
    pool = connections["pool"] * len(connections["sources"])
    most = max(c for sweep in sweeps.values() for _, c in sweep.points)
    if most > pool:
        raise ValueError(f"connections: pool: {pool} in all, fewer than the {most} that an experiment wants")
    return Study(
        name=data["name"],
        title=data["title"],
        paper=data["paper"],
        folder=folder,
        quick=quick,
        seed=data["seed"],
        sources=tuple(connections["sources"]),
        pool=connections["pool"],
        hash=connections["hash"],
        weight_range=(data["weights"]["low"], data["weights"]["high"]),
        techniques={choice(label): model for label, model in data["techniques"].items()},
        trials=accuracy[f"trials{suffix}"],
        published_trials=accuracy["trials"],
        sweeps=sweeps,
        validation=Validation(
            validation["source"], validation["connections"], tuple(tuple(w) for w in validation["weights"])
        ),
        cost=Cost(
            techniques=tuple(choice(label) for label in cost["techniques"]),
            connections=tuple(cost[f"connections{suffix}"]),
            paths=tuple(cost["paths"]),
            paths_connections=cost[f"paths_connections{suffix}"],
            packets=cost["packets"],
            packets_list=cost["packets_list"],
            repetitions=cost["repetitions"],
            process_bytes=cost["process_bytes"],
        ),
        changes=Changes(
            techniques=tuple(choice(label) for label in changes["techniques"]),
            per_second=tuple(changes["per_second"]),
            connections=changes[f"connections{suffix}"],
            paths=changes["paths"],
            packets_per_second=changes[f"packets_per_second{suffix}"],
        ),
        hashes=Hashes(tuple(hashes["names"]), hashes["connections"], tuple(hashes["weights"])),
    )
