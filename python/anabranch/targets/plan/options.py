"""Where a plan goes: what the command line says of the switch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from anabranch.errors import AnabranchError

RUN_FOLDER = Path("/var/run/openvswitch")

Plan = Annotated[str, typer.Argument(metavar="PLAN.TOML", help="Which packets go over which ports in which shares.")]
TargetName = Annotated[
    str, typer.Option("--target", metavar="NAME", help="What the plan is for: `ovs`, `linux` or `ebpf`.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")]

OPTIONS = (
    (
        "ovs",
        "Open vSwitch",
        {key: key for key in ("bridge", "openflow", "ovsdb", "key", "certificate", "authority")},
    ),
    ("ebpf", "the kernel's datapath", {"dev": "devices", "hook": "hook"}),
)
"""Target, what it is, and its own options as people write them and as `Place` calls them."""


@dataclass(frozen=True)
class Place:
    """Options of the verbs that reach a target; empty is what was not given. `options` has them on the command line."""

    bridge: Annotated[str, typer.Option(help="Of Open vSwitch; that of the plan, or br0.")] = ""
    openflow: Annotated[
        str, typer.Option(metavar="ADDRESS", help="unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT; the bridge's own socket.")
    ] = ""
    ovsdb: Annotated[str, typer.Option(metavar="ADDRESS", help="Of the switch's database, to find the bridge by.")] = ""
    key: Annotated[str, typer.Option(metavar="PEM", help="For ssl: our private key.")] = ""
    certificate: Annotated[str, typer.Option(metavar="PEM", help="For ssl: our certificate.")] = ""
    authority: Annotated[str, typer.Option(metavar="PEM", help="For ssl: who signed the switch's certificate.")] = ""
    devices: Annotated[
        list[str] | None,
        typer.Option("--dev", metavar="NAME", help="For ebpf: whose packets these are; those of the plan. Repeatable."),
    ] = None
    hook: Annotated[
        str, typer.Option(metavar="NAME", help="For ebpf: `ingress`, `egress` or `xdp`; that of the plan.")
    ] = ""

    def refuse_others(self, target: str) -> None:
        """Raises an AnabranchError if there are options that are of another target than `target`."""
        for owner, title, options in OPTIONS:
            for option, value in ((option, getattr(self, key)) for option, key in options.items()):
                if value and owner != target:
                    text = value if isinstance(value, str) else ", ".join(value)
                    raise AnabranchError(f"{option}: {text}: of {title}; with --target {target} leave it out")

    def refuse_any(self, problem: str) -> None:
        """Raises an AnabranchError if there is any option; `problem` says where it is of no use."""
        for _, _, options in OPTIONS:
            for option, key in options.items():
                if getattr(self, key):
                    raise AnabranchError(f"{option}: not used {problem}; leave it out")

    @property
    def tls_files(self) -> tuple[Path, Path, Path] | None:
        """Key, certificate and authority, if given.

        Raises:
            AnabranchError: some of them are.

        """
        files = {"key": self.key, "certificate": self.certificate, "authority": self.authority}
        missing = [name for name, file in files.items() if not file]
        if len(missing) == len(files):
            return None
        if missing:
            raise AnabranchError(f"{missing[0]}: missing; ssl takes --key, --certificate and --authority together")
        return Path(self.key), Path(self.certificate), Path(self.authority)


def options(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb, of keyword parameters, with an option for each field of `Place` in the stead of its `place`."""

    @wraps(verb)
    def called(**given: Any) -> None:
        place = Place(**{field.name: given.pop(field.name) for field in fields(Place)})
        verb(place=place, **given)

    given = signature(Place, eval_str=True).parameters.values()
    of_place = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in given]
    every: list[Parameter] = []
    for parameter in signature(verb, eval_str=True).parameters.values():
        every += of_place if parameter.name == "place" else [parameter]
    called.__signature__ = Signature(every)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
    return called
