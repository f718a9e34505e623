"""Target options of Open vSwitch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from anabranch.deploy.targets.plan.options import StateFile
from anabranch.files.errors import AnabranchError

OPENFLOW_HELP = "unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT; the bridge's own socket."
VERSION = "3.1.0"


@dataclass(frozen=True)
class Options:
    """The addresses of a bridge, and the file of its splits."""

    bridge: Annotated[str, typer.Option(help="Of Open vSwitch; that of the plan, or br0.")] = ""
    openflow: Annotated[str, typer.Option(metavar="ADDRESS", help=OPENFLOW_HELP)] = ""
    ovsdb: Annotated[str, typer.Option(metavar="ADDRESS", help="Of the switch's database, to find the bridge by.")] = ""
    key: Annotated[str, typer.Option(metavar="PEM", help="For ssl: our private key.")] = ""
    certificate: Annotated[str, typer.Option(metavar="PEM", help="For ssl: our certificate.")] = ""
    authority: Annotated[str, typer.Option(metavar="PEM", help="For ssl: who signed the switch's certificate.")] = ""
    state: StateFile = ""

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


@dataclass(frozen=True)
class ForecastOptions:
    """Which Open vSwitch the weights are for."""

    bridge: Annotated[str, typer.Option(help="Of Open vSwitch.")] = "br0"
    group: Annotated[int, typer.Option(help="Group number in Open vSwitch.", min=0)] = 1
    param: Annotated[int, typer.Option(help="Seed of this switch's hash in Open vSwitch.", min=0, max=2**64 - 1)] = 0
    ovs_version: Annotated[str, typer.Option(metavar="X.Y.Z", help="Version of Open vSwitch.")] = VERSION


@dataclass(frozen=True)
class ExplainOptions:
    """Which bridge is asked how things stand; none for a fresh one."""

    bridge: Annotated[str, typer.Option(help="With a plan: as things stand in this bridge of Open vSwitch.")] = ""
    openflow: Annotated[str, typer.Option(metavar="ADDRESS", help="Where the bridge is, as in `apply`.")] = ""
    in_port: Annotated[str | None, typer.Option(metavar="NAME", help="Port that the connections come in by.")] = None


@dataclass(frozen=True)
class ExplainGroupOptions:
    """How Open vSwitch chooses a bucket."""

    method: Annotated[
        str | None, typer.Option(help="Of Open vSwitch: `hash`, `dp_hash`, or `default` for a group without one.")
    ] = None
    param: Annotated[int | None, typer.Option(help="Open vSwitch's selection_method_param.", min=0, max=2**64 - 1)] = (
        None
    )
    bucket_ids: Annotated[str | None, typer.Option(metavar="ID,ID,...", help="Of Open vSwitch; 0,1,2,...")] = None
    ovs_version: Annotated[str | None, typer.Option(metavar="X.Y.Z", help="Version of Open vSwitch; 3.1.0.")] = None


OPTIONS = {
    "reach": Options,
    "forecast": ForecastOptions,
    "explain": ExplainOptions,
    "explain-group": ExplainGroupOptions,
}
