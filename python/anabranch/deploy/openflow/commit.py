"""Changes of a switch's tables, all or nothing."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence

from anabranch.deploy.openflow.bundle import MOST, Step, check_control, encode_add, encode_control
from anabranch.deploy.openflow.channel import Batch, Channel
from anabranch.deploy.openflow.error import Refused, SwitchError
from anabranch.deploy.openflow.flow_codec import encode_flow_mod
from anabranch.deploy.openflow.framing import Kind, message
from anabranch.deploy.openflow.group_codec import encode_group_mod
from anabranch.deploy.openflow.meter_codec import ALL_METERS, decode_meters, encode_meter_mod, meter_request
from anabranch.deploy.openflow.modification import FlowMod, GroupMod, MeterMod, Mod
from anabranch.deploy.openflow.multipart import What
from anabranch.files.errors import AnabranchError

_BUNDLES = itertools.count(1)
_FAILED = "OFPBFC_MSG_FAILED"
"""Error of a commit when one of the bundle's messages, which has an error of its own, could not be done."""


def encode_mod(mod: Mod) -> tuple[int, bytes]:
    """Type and body of the message for a modification.

    Raises:
        AnabranchError: the modification has no encoding.

    """
    try:
        if isinstance(mod, FlowMod):
            kind, body = Kind.FLOW_MOD, encode_flow_mod(mod)
        elif isinstance(mod, GroupMod):
            kind, body = Kind.GROUP_MOD, encode_group_mod(mod)
        else:
            kind, body = Kind.METER_MOD, encode_meter_mod(mod)
    except (struct.error, OverflowError) as error:
        raise AnabranchError(f"{describe(mod)}: a number does not fit its field: {error}; see tables.py") from None
    if len(body) > MOST:
        raise AnabranchError(f"{describe(mod)}: {len(body)} bytes: at most {MOST} fit; use fewer buckets or actions")
    return kind, body


def describe(mod: Mod) -> str:
    """Describes a modification for people."""
    if isinstance(mod, FlowMod):
        return f"{mod.command} rule of table {mod.flow.table}, priority {mod.flow.priority}, {mod.flow.match}"
    if isinstance(mod, GroupMod):
        return f"{mod.command} group {mod.group.group_id:#x}"
    return f"{mod.command} meter {mod.meter.meter_id}"


async def commit(channel: Channel, mods: Sequence[Mod]) -> None:
    """Commits rules and groups in one atomic bundle, in order; new and changed meters before it, deleted ones after it.

    Meters stand outside because Open vSwitch's bundles take none (`handle_bundle_add` in its `ofproto/ofproto.c`). If
    the bundle is refused they are put back.

    Raises:
        Refused: by the switch; nothing is changed.
        AnabranchError: a modification has no encoding, and nothing is sent; or the connection ends.

    """
    bundled = [(mod, *encode_mod(mod)) for mod in mods if not isinstance(mod, MeterMod)]
    meters = [mod for mod in mods if isinstance(mod, MeterMod)]
    before = [mod for mod in meters if mod.command != "delete"]
    after = [mod for mod in meters if mod.command == "delete"]
    undo = await _reverse(channel, before)
    try:
        await _one_by_one(channel, before)
        await _bundle(channel, bundled)
    except Refused:
        await _one_by_one(channel, undo, lenient=True)
        raise
    await _one_by_one(channel, after)


async def _reverse(channel: Channel, mods: Sequence[MeterMod]) -> list[MeterMod]:
    """Modifications that undo these."""
    if not mods:
        return []
    parts = await channel.multipart(What.METERS, meter_request(ALL_METERS))
    present = {meter.meter_id: meter for part in parts for meter in decode_meters(part)}
    reverse: dict[int, MeterMod] = {}
    for mod in mods:
        number = mod.meter.meter_id
        known = present.get(number)
        reverse.setdefault(number, MeterMod("delete", mod.meter) if known is None else MeterMod("modify", known))
    return list(reverse.values())


async def _one_by_one(channel: Channel, mods: Sequence[MeterMod], *, lenient: bool = False) -> None:
    if not mods:
        return
    encoded = [encode_mod(mod) for mod in mods]
    with channel.batch(len(mods)) as batch:
        await channel.write(message(kind, xid, body) for xid, (kind, body) in zip(batch.xids, encoded, strict=True))
        await channel.barrier()
    if not lenient:
        _raise_first(batch, mods)


async def _bundle(channel: Channel, mods: Sequence[tuple[Mod, int, bytes]]) -> None:
    if not mods:
        return
    bundle = next(_BUNDLES) & 0xFFFFFFFF
    await _control(channel, bundle, Step.OPEN)
    whole = False
    with channel.batch(len(mods)) as batch:
        try:
            await channel.write(
                encode_add(bundle, xid, message(kind, xid, body))
                for xid, (_, kind, body) in zip(batch.xids, mods, strict=True)
            )
            await channel.barrier()
            whole = not batch.refusals
        finally:
            if not whole:
                channel.ask_later(
                    Kind.BUNDLE_CONTROL, encode_control(bundle, Step.DISCARD), Kind.BUNDLE_CONTROL, "discard"
                )
        _raise_first(batch, [mod for mod, _, _ in mods])
        try:
            await _control(channel, bundle, Step.COMMIT)
        except Refused as refused:
            if refused.error.name == _FAILED:
                _raise_first(batch, [mod for mod, _, _ in mods])
            raise


def _raise_first(batch: Batch, mods: Sequence[Mod]) -> None:
    if batch.refusals:
        index = min(batch.refusals)
        error: SwitchError = batch.refusals[index]
        raise Refused(error, describe(mods[index]), mods[index])


async def _control(channel: Channel, bundle: int, step: Step) -> None:
    reply = await channel.request(
        Kind.BUNDLE_CONTROL, encode_control(bundle, step), Kind.BUNDLE_CONTROL, f"bundle {step.name.lower()}"
    )
    try:
        check_control(reply, bundle, step)
    except AnabranchError as error:
        channel.close(error)
        raise
