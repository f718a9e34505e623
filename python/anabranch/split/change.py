"""Changes of a group: new weights, a path that dies, drains, starts slowly or joins, a bound. Paths count from 1."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np

from anabranch.files.errors import AnabranchError
from anabranch.split.splitter import Splitter

Kind = Literal["weights", "fail", "drain", "slow-start", "add", "bounded-load"]


@dataclass(frozen=True)
class Change:
    """One change, applied to the original group; changes do not add up."""

    kind: Kind
    text: str
    """New weights (`4,3,1`), the number of the path that dies or drains (`2`, `2@1.5`), that of one that starts slowly
    with its age and the window (`2@15/60`), the weight of the path that joins, or the part above its share that a path
    may have.
    """

    @property
    def key(self) -> str:
        """Option that gave it."""
        return "change" if self.kind == "weights" else self.kind

    def after(self, weights: tuple[str, ...]) -> tuple[list[str], list[bool]]:
        """Weights and liveness after the change; of a slow start, those before it.

        Raises:
            AnabranchError: the number of weights differs, there is no such path, or the text is none of its kind.

        """
        paths = len(weights)
        if self.kind in ("fail", "drain", "slow-start"):
            path = self.path(paths)
            self.numbers()
            return list(weights), [index != path - 1 for index in range(paths)]
        if self.kind == "add":
            return [*weights, self.text], [True] * (paths + 1)
        if self.kind == "bounded-load":
            self.numbers()
            return list(weights), [True] * paths
        new = split_list(self.text)
        if len(new) < paths:
            raise AnabranchError(
                f"change: {self.text}: {len(new)} weights for {paths} paths; give each path one, 0 for one that leaves"
            )
        return new, [True] * len(new)

    def begin(self, splitter: Splitter, weights: tuple[str, ...]) -> None:
        """Puts a group where the change finds it: a path that is to start slowly is down before."""
        if self.kind == "slow-start":
            splitter.update(*self.after(weights))

    def apply(self, splitter: Splitter, weights: tuple[str, ...]) -> None:
        """Plans the group anew; a bound changes no plan, and a drain is one by `Splitter.drain`.

        Raises:
            AnabranchError: what the technique refuses.

        """
        if self.kind == "slow-start":
            age_s, window_s = self.numbers()
            ages = [age_s if index == self.path(len(weights)) - 1 else None for index in range(len(weights))]
            splitter.slow_start(ages, window_s=window_s, up=[True] * len(weights))
        elif self.kind == "bounded-load":
            splitter.pick_bounded(np.zeros(1, np.uint64), np.zeros(len(weights), np.uint64), *self.numbers())
        else:
            splitter.update(*self.after(weights))

    def path(self, paths: int) -> int:
        """Number, from 1, of the path that dies, drains, starts or joins; 0 if the change concerns no single path."""
        if self.kind in ("weights", "bounded-load"):
            return 0
        if self.kind == "add":
            return paths + 1
        text = self.text if self.kind == "fail" else self.text.partition("@")[0]
        number = int(text) if text.strip().isdecimal() else 0
        if not 1 <= number <= paths:
            raise AnabranchError(f"{self.kind}: {self.text}: no such path; give a number from 1 to {paths}")
        return number

    def numbers(self) -> tuple[float, ...]:
        """Numbers beside the path: time of a drain, if given; age and window of a slow start; part of a bound."""
        if self.kind == "drain":
            _, at, time = self.text.partition("@")
            return (self._number(time, "as in 2@1.5, seconds after the first packet of the trace"),) if at else ()
        if self.kind == "slow-start":
            age, slash, window = self.text.partition("@")[2].partition("/")
            hint = "give PATH@AGE/WINDOW in seconds, as in 2@15/60"
            if not slash or not (window_s := self._number(window, hint)):
                raise AnabranchError(f"slow-start: {self.text}: no age and window; {hint}")
            return self._number(age, hint), window_s
        if self.kind == "bounded-load":
            return (self._number(self.text, "give the part of its share that a path may have above it, as 0.1"),)
        return ()

    def _number(self, text: str, hint: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not (isfinite(number) and number >= 0):
            raise AnabranchError(f"{self.kind}: {self.text}: `{text}` is no number from 0; {hint}")
        return number

    def label(self, paths: int) -> str:
        """Describes the change in words."""
        if self.kind == "fail":
            return f"path {self.path(paths)} fails"
        if self.kind == "drain":
            when = "".join(f"{time:g} s after the first packet" for time in self.numbers())
            return f"path {self.path(paths)} drains {when or 'after half of the connections'}"
        if self.kind == "slow-start":
            age_s, window_s = self.numbers()
            return f"path {self.path(paths)} is back for {age_s:g} s, of a slow start of {window_s:g} s"
        if self.kind == "add":
            return f"path {paths + 1} of weight {self.text} joins"
        if self.kind == "bounded-load":
            return f"the load is bounded to 1 + {self.text} of each share"
        return f"weights become {self.text}"


def split_list(text: str) -> list[str]:
    """Splits the items of `4, 3,2`."""
    return [item.strip() for item in text.split(",")]
