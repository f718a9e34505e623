"""The group that a plan is for: weighted paths, which of them are dead, and the ports they leave by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.files.errors import AnabranchError
from anabranch.split.change import Change, split_list
from anabranch.split.request import read_toml, weights_of
from anabranch.split.splitter import Splitter, Weight


@dataclass(frozen=True)
class Group:
    """Paths in order; they count from 1 in all that people read."""

    weights: tuple[str, ...]
    """Weights as exact decimal text."""
    up: tuple[bool, ...]
    ports: tuple[str, ...] | None
    """Ports by which the paths leave: port numbers or device names, if the user said so."""

    @property
    def integers(self) -> list[int]:
        """The weights as whole numbers: as written, or the least in their ratio where one is written as a decimal."""
        return list(self._integers)

    @cached_property
    def _integers(self) -> tuple[int, ...]:
        whole = _core.weight_integers(list(self.weights))
        written = [text.strip().isdecimal() for text in self.weights]
        divisor = 1 if all(written) else math.gcd(*whole)
        return tuple(weight // divisor for weight in whole)

    @cached_property
    def asked(self) -> npt.NDArray[np.float64]:
        """The share that each path should get, the dead none; shape (paths,). Nobody may change it."""
        shares = self.splitter("random").asked()
        shares.flags.writeable = False
        return shares

    @property
    def degraded(self) -> bool:
        """Whether a path is dead."""
        return not all(self.up)

    def port(self, path: int, prefix: str = "") -> str:
        """The port of a path (from 0); if the user did not say, its number after `prefix`."""
        return f"{prefix}{path + 1}" if self.ports is None else self.ports[path]

    def splitter(self, technique: str, **parameters: object) -> Splitter:
        """The group planned by a technique over the living paths."""
        return Splitter(technique, self.weights, self.up, **parameters)


def group(weights: str | Sequence[Weight], fail: Sequence[int] = (), ports: str | None = None) -> Group:
    """Checks weights (`4,3,2`, numbers, or a TOML file with the key `weights`), dead paths and ports.

    Raises:
        AnabranchError: what is no weight, a dead path that there is not, no path left alive, another number of ports.

    """
    if isinstance(weights, str) and weights.endswith(".toml"):
        document = read_toml(weights)
        if "weights" not in document:
            raise AnabranchError(f"{weights}: weights: missing; give one per path, as in weights = [4, 3, 2]")
        dead_paths = document.get("fail", [])
        fail = fail or [int(path) for path in (dead_paths if isinstance(dead_paths, list) else [dead_paths])]
        texts = weights_of(document["weights"], f"{weights}: ")
    else:
        texts = weights_of(weights)
    return _checked(texts, tuple(fail), ports)


# In a fabric many groups have the same weights.
@lru_cache(maxsize=1 << 12)
def _checked(texts: tuple[str, ...], fail: tuple[int, ...], ports: str | None) -> Group:
    dead = {Change("fail", str(number)).path(len(texts)) for number in fail}
    up = tuple(path not in dead for path in range(1, len(texts) + 1))
    Splitter("random", texts, up)
    names = tuple(split_list(ports)) if ports else None
    if names is not None and len(names) != len(texts):
        raise AnabranchError(f"ports: {ports}: {len(names)} ports for {len(texts)} paths; give each path one")
    return Group(texts, up, names)


def within(group: Group, limit: int, whose: str) -> list[int]:
    """The group's whole weights, all at most `limit`.

    Raises:
        AnabranchError: a weight over the limit; the message has the nearest weights that fit.

    """
    weights = group.integers
    for path, weight in enumerate(weights, 1):
        if weight > limit:
            fitting, exact = fitted(weights, limit)
            text = short(fitting, 16)
            hint = f"write {text}, the same split" if exact else f"the nearest that fit are {text}"
            raise AnabranchError(f"weights: path {path} has weight {weight}, over {whose}'s {limit}; {hint}")
    return weights


def exact(splitter: Splitter) -> list[float]:
    """The exact shares of a technique whose plan decides them."""
    shares = splitter.shares()
    if shares is None:
        raise TypeError(f"{splitter.technique}: arrivals decide its shares")
    values: list[float] = shares.tolist()
    return values


def fitted(weights: Sequence[int], limit: int) -> tuple[list[int], bool]:
    """Weights of at most `limit` with the least mean relative error, none lost, and whether the error is none."""
    whole = np.array(weights, dtype=np.float64)
    divisor = math.gcd(*weights)
    if max(weights) // divisor <= limit:
        return [weight // divisor for weight in weights], True
    carrying = whole > 0
    asked = whole / whole.sum()
    best, least = [0], math.inf
    for largest in range(limit, limit // 2, -1):
        candidate = np.where(carrying, np.maximum(1, np.round(whole * (largest / whole.max()))), 0)
        error = float(np.mean(np.abs(candidate / candidate.sum() - asked)[carrying] / asked[carrying]))
        if error < least:
            best, least = [int(weight) for weight in candidate], error
    return best, False


def short(numbers: Sequence[object], most: int = 6) -> str:
    """`4,3,2`, of a long list the first few."""
    if len(numbers) <= most:
        return ",".join(map(str, numbers))
    return ",".join(map(str, numbers[: most - 1])) + f",... ({len(numbers)})"
