"""A bridge in Open vSwitch's database, asked once (OVSDB, RFC 7047)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.deploy.targets.ovs import json_rpc
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import install

VERSION = "OpenFlow15"
TIMEOUT_MS = 5000


@dataclass(frozen=True)
class BridgeRow:
    """One bridge."""

    name: str
    protocols: tuple[str, ...]
    """OpenFlow versions that it speaks; none is Open vSwitch's default, which has 1.5."""
    listeners: tuple[str, ...]
    """Listeners for controllers, as `ptcp:6653` or `pssl:6653`."""


def ask(address: str, bridge: str, tls_files: tuple[Path, Path, Path] | None) -> BridgeRow:
    """The row of a bridge.

    Raises:
        AnabranchError: the package `ovs` is missing, nobody answers, or there is no such bridge.

    """
    bridges, controllers = _select(
        address, tls_files, ("Bridge", "name", "protocols", "controller"), ("Controller", "_uuid", "target")
    )
    targets = {row["_uuid"][1]: row["target"] for row in controllers}
    for row in bridges:
        if row["name"] == bridge:
            listeners = (targets.get(uuid, "") for _, uuid in _set(row["controller"]))
            return BridgeRow(bridge, tuple(_set(row["protocols"])), tuple(filter(None, listeners)))
    names = ", ".join(sorted(row["name"] for row in bridges)) or "none"
    raise AnabranchError(f"bridge: {bridge}: not in {address}; there are: {names}")


def openflow_address(address: str, row: BridgeRow) -> str:
    """The address at which a bridge of the database at `address` speaks OpenFlow.

    Raises:
        AnabranchError: it does not listen there, or not for version 1.5.

    """
    if row.protocols and VERSION not in row.protocols:
        hint = f"ovs-vsctl add bridge {row.name} protocols {VERSION}"
        raise AnabranchError(f"bridge {row.name}: protocols: {', '.join(row.protocols)}: no {VERSION}; {hint}")
    kind, _, rest = address.partition(":")
    if kind == "unix":
        return f"unix:{Path(rest).parent / row.name}.mgmt"
    host = rest.rpartition(":")[0]
    for listener in row.listeners:
        scheme, _, where = listener.partition(":")
        if scheme in ("ptcp", "pssl"):
            return f"{scheme[1:]}:{host}:{where.partition(':')[0] or 6653}"
    hint = f"ovs-vsctl set-controller {row.name} ptcp:6653, or give --openflow"
    raise AnabranchError(f"bridge {row.name}: it lets no controller in; {hint}")


def _select(address: str, tls_files: tuple[Path, Path, Path] | None, *columns: tuple[str, ...]) -> list[list[Any]]:
    """The columns of each table, all rows."""
    try:
        from ovs import stream
    except ModuleNotFoundError:
        raise AnabranchError(f"ovs: missing; {install('switches')}") from None
    if tls_files is None and address.startswith("ssl:"):
        raise AnabranchError(f"ovsdb: {address}: ssl takes --key, --certificate and --authority; give them")
    if tls_files is not None:
        key, certificate, authority = map(str, tls_files)
        stream.Stream.ssl_set_private_key_file(key)
        stream.Stream.ssl_set_certificate_file(certificate)
        stream.Stream.ssl_set_ca_cert_file(authority)
    try:
        failed, connection = stream.Stream.open_block(stream.Stream.open(address), TIMEOUT_MS)
    except OSError as error:
        raise AnabranchError(f"ovsdb: {address}: {error.strerror or error}; is ovsdb-server there?") from None
    if failed:
        raise AnabranchError(f"ovsdb: {address}: {os.strerror(failed)}; is ovsdb-server there?")
    selects = [{"op": "select", "table": table, "where": [], "columns": list(names)} for table, *names in columns]
    failed, reply = json_rpc.ask(connection, "transact", ["Open_vSwitch", *selects], TIMEOUT_MS)
    if failed or reply is None or reply.error is not None:
        refused = "no answer" if reply is None else reply.error
        problem = os.strerror(failed) if failed > 0 else "closed by the other end" if failed else refused
        raise AnabranchError(f"ovsdb: {address}: {problem}; is that the database of an Open vSwitch?")
    try:
        return [result["rows"] for result in reply.result]
    except (KeyError, TypeError):
        raise AnabranchError(f"ovsdb: {address}: {reply.result}; is that the database of an Open vSwitch?") from None


def _set(value: Any) -> list[Any]:
    """A set (RFC 7047 section 5.1), which is written as its only element where it has one."""
    return list(value[1]) if isinstance(value, list) and value and value[0] == "set" else [value]
