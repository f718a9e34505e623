"""Target options: what the command line says of a target, declared by each target for itself.

The module `options` of a target, if it has options, has `OPTIONS`: a frozen dataclass of options per use. A field is
the option of the same name with `-` for `_`, and its default is what it is when nobody gave it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer

from anabranch.deploy.targets import registry
from anabranch.files.errors import AnabranchError

REACH = "reach"
"""The use of `apply`, `diff`, `verify` and `remove`: where the target is."""
COMPARE = "compare"
"""The use of `diff` and `verify` for targets that no verb changes; the others have `REACH` there."""
FORECAST = "forecast"
"""The use of `plan`: which version and numbers are meant."""
EXPLAIN = "explain"
"""The use of `explain` with a plan."""
EXPLAIN_GROUP = "explain-group"
"""The use of `explain` with weights."""


def target_names(incomplete: str) -> list[str]:
    """Targets whose names begin so, for completion."""
    return [name for name in registry.TARGETS if name.startswith(incomplete)]


def compared_names(incomplete: str) -> list[str]:
    """Targets that can be compared whose names begin so, for completion."""
    return [name for name in (*registry.TARGETS, *registry.COMPARED) if name.startswith(incomplete)]


PlanPath = Annotated[
    str, typer.Argument(metavar="PLAN.TOML", help="The plan file: which packets go over which ports in which shares.")
]
TargetName = Annotated[
    str,
    typer.Option(
        "--target",
        metavar="NAME",
        help=f"The target that the plan is for: {registry.listed()}.",
        autocompletion=target_names,
    ),
]
ComparedName = Annotated[
    str,
    typer.Option(
        "--target",
        metavar="NAME",
        help=f"The target that the plan is for: {registry.listed((*registry.TARGETS, *registry.COMPARED))}.",
        autocompletion=compared_names,
    ),
]
StateFile = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help="For ovs and ebpf: keep the tables in this file, so that a bridge or a datapath without any goes on from "
        "them, as after a reboot.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]


@dataclass(frozen=True)
class TargetOptions:
    """All target options of a verb, as given."""

    use: str
    given: Mapping[str, Any]
    """Values by the names of fields; what was not given has its default."""

    def of(self, name: str, *, strict: bool = True) -> Any:
        """The options of one target, as its own class, or `None` where it has none for this use.

        Args:
            name: of the target.
            strict: options of other targets are refused.

        Raises:
            AnabranchError: an option of another target is given.

        """
        if strict:
            for other in _with(self.use):
                if other != name:
                    self._refuse_given(other, f"with --target {name} leave it out", name)
        kind = _options(name, self.use)
        if kind is None:
            return None
        return kind(**{field.name: self.given[field.name] for field in fields(kind) if field.name in self.given})

    def refuse_any(self, problem: str, *, values: bool = True) -> None:
        """Raises an AnabranchError if any option is given; `problem` says where it is not used.

        Args:
            problem: in which `{target}` becomes the target that has the option.
            values: whether the error also has the value.

        """
        for name in _with(self.use):
            for option, value in self._given_of(name):
                given = f"{option}: {value}" if values else option
                raise AnabranchError(f"{given}: not used {problem.format(target=name)}")

    def _refuse_given(self, other: str, hint: str, name: str) -> None:
        own = _options(name, self.use)
        names = {field.name.replace("_", "-") for field in fields(own)} if own is not None else set()
        for option, value in self._given_of(other):
            if option not in names:
                raise AnabranchError(f"{option}: {value}: of {registry.compared(other).descriptor.title}; {hint}")

    def _given_of(self, name: str) -> list[tuple[str, str]]:
        """Option and value of all that is not as if nobody had given it."""
        kind = _options(name, self.use)
        given = []
        for field in fields(kind) if kind is not None else ():
            value = self.given.get(field.name, field.default)
            if value not in (None, field.default) and value != []:
                text = value if isinstance(value, str) else ", ".join(value) if isinstance(value, list) else str(value)
                given.append((field.name.replace("_", "-"), text))
        return given


def with_options(**uses: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The verb, of keyword parameters, with every target's options in the stead of each parameter that is named.

    Args:
        uses: the use of each such parameter.

    """

    def wrap(verb: Callable[..., Any]) -> Callable[..., Any]:
        added = {name: _parameters(use) for name, use in uses.items()}

        @wraps(verb)
        def called(**given: Any) -> Any:
            for name, parameters in added.items():
                mine = {one.name: given.pop(one.name) for one in parameters}
                given[name] = TargetOptions(uses[name], mine)
            return verb(**given)

        every: list[Parameter] = []
        for parameter in signature(verb, eval_str=True).parameters.values():
            keyword = parameter.replace(kind=Parameter.KEYWORD_ONLY)
            every += added.get(parameter.name, [keyword])
        called.__signature__ = Signature(every)  # type: ignore[attr-defined]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        return called

    return wrap


def _parameters(use: str) -> list[Parameter]:
    parameters: dict[str, Parameter] = {}
    for name in _with(use):
        kind = _options(name, use)
        for parameter in signature(kind, eval_str=True).parameters.values() if kind is not None else ():
            parameters.setdefault(parameter.name, parameter.replace(kind=Parameter.KEYWORD_ONLY))
    return list(parameters.values())


def _with(use: str) -> tuple[str, ...]:
    """Targets that a use is for."""
    return (*registry.TARGETS, *registry.COMPARED) if use == COMPARE else registry.TARGETS


def _options(name: str, use: str) -> type | None:
    """The options of a target for a use."""
    return registry.option_class(name, REACH if use == COMPARE and name in registry.TARGETS else use)
