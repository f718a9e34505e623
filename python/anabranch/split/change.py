"""Changes of a group: new weights, a path that dies, drains or joins. Paths count from 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from anabranch.files.errors import AnabranchError

Kind = Literal["weights", "fail", "drain", "add"]


@dataclass(frozen=True)
class Change:
    """One change, applied to the original group; changes do not add up."""

    kind: Kind
    text: str
    """New weights (`4,3,1`), the number of the path that dies or drains, or the weight of the path that joins."""

    @property
    def key(self) -> str:
        """Option that gave it."""
        return "change" if self.kind == "weights" else self.kind

    def after(self, weights: tuple[str, ...]) -> tuple[list[str], list[bool]]:
        """Weights and liveness after the change.

        Raises:
            AnabranchError: the number of weights differs, or there is no such path.

        """
        paths = len(weights)
        if self.kind in ("fail", "drain"):
            path = self.path(paths)
            return list(weights), [index != path - 1 for index in range(paths)]
        if self.kind == "add":
            return [*weights, self.text], [True] * (paths + 1)
        new = split_list(self.text)
        if len(new) < paths:
            raise AnabranchError(
                f"change: {self.text}: {len(new)} weights for {paths} paths; give each path one, 0 for one that leaves"
            )
        return new, [True] * len(new)

    def path(self, paths: int) -> int:
        """Number, from 1, of the path that dies, drains or joins; 0 if the change concerns no single path."""
        if self.kind == "weights":
            return 0
        if self.kind == "add":
            return paths + 1
        number = int(self.text) if self.text.strip().isdecimal() else 0
        if not 1 <= number <= paths:
            raise AnabranchError(f"{self.kind}: {self.text}: no such path; give a number from 1 to {paths}")
        return number

    def label(self, paths: int) -> str:
        """Describes the change in words."""
        if self.kind == "fail":
            return f"path {self.path(paths)} fails"
        if self.kind == "drain":
            return f"path {self.path(paths)} drains after half of the connections"
        if self.kind == "add":
            return f"path {paths + 1} of weight {self.text} joins"
        return f"weights become {self.text}"


def split_list(text: str) -> list[str]:
    """Splits the items of `4, 3,2`."""
    return [item.strip() for item in text.split(",")]
