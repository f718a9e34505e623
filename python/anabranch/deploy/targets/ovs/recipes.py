"""Open vSwitch select groups: what weights really give, and two ways to be given what was asked.

Rules from `ofproto/ofproto-dpif.c` (`group_setup_dp_hash_table`) and `ofproto-dpif-xlate.c`
(`group_best_live_bucket`), pinned to a running switch by `vectors/ovs` and the tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from anabranch import _core
from anabranch.deploy.targets.ovs import own_hash
from anabranch.deploy.targets.ovs.headers import is_no_ip
from anabranch.deploy.targets.plan.group import Group, exact, short, within
from anabranch.deploy.targets.plan.recipe import Forecast, Reading, Recipe, recipe
from anabranch.files.errors import AnabranchError
from anabranch.split.splitter import Splitter
from anabranch.split.stats.mape import mape

WEIGHT_MAX = 65535
"""OpenFlow's 16 bits."""
SLOT_COUNTS = tuple(2**k for k in range(8, 17))
FIELDS = "ip_src,ip_dst,ipv6_src,ipv6_dst,nw_proto,tcp_src,tcp_dst,udp_src,udp_dst,sctp_src,sctp_dst"
PER_CONNECTION = "one datapath flow and one upcall per connection: 75,000 to 100,000 new ones a second at most"

READING = Reading(
    is_no_ip, "stacked VLAN tags or MPLS, where the switch sees no IP, so that no rule of a plan takes them"
)
IP = ("ip", "ipv6")


@dataclass(frozen=True)
class Switch:
    """Which Open vSwitch, and where the group goes."""

    version: tuple[int, int, int] = (3, 1, 0)
    bridge: str = "br0"
    group_id: int = 1
    parameter: int = 0
    """Parameter of the hash: `selection_method_param` or basis; another one on each switch."""

    @property
    def max_slots(self) -> int:
        """Most slots of a dp_hash table."""
        return 256 if self.version >= (2, 17, 0) else 64

    @property
    def slots_per_bucket(self) -> int:
        """Least slots per bucket: 4 in 3.1.6 and later of that series, and from 3.5 on."""
        return 4 if (3, 1, 6) <= self.version < (3, 2, 0) or self.version >= (3, 5, 0) else 1

    @property
    def sizing(self) -> dict[str, int]:
        """Parameters of the technique `ovs-dp-hash`."""
        return {"max_slots": self.max_slots, "slots_per_bucket": self.slots_per_bucket}


def parse_version(text: str) -> tuple[int, int, int]:
    """`3.1.0` or `2.17`, as `ovs-vswitchd --version` says it.

    Raises:
        AnabranchError: text that is no version, or one before 2.10, which has no dp_hash by default.

    """
    match = re.fullmatch(r"(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?", text.strip())
    if match is None:
        raise AnabranchError(f"ovs-version: {text}: not a version; write it as ovs-vswitchd --version does: 3.1.0")
    version = (int(match[1]), int(match[2]), int(match[3] or 0))
    if version < (2, 10, 0):
        raise AnabranchError(f"ovs-version: {text}: older than 2.10, which is not modelled; give 2.10 or newer")
    return version


def forecast(group: Group, switch: Switch, bound_pct: float, strict: bool) -> Forecast:
    """All recipes; with `strict`, weights over OpenFlow's limit are an error instead of a refusal."""
    recipes: list[Recipe] = []
    refused: list[tuple[str, str]] = []
    if strict:
        within(group, WEIGHT_MAX, "OpenFlow")
    for name, build in (
        ("dp_hash", as_written),
        ("dp_hash-twin", twin),
        ("hash-gravity", gravity),
        ("multipath", lambda group, switch: multipath(group, switch, bound_pct)),
        ("hash", scored),
    ):
        recipe = attempt(build, group, switch)
        if isinstance(recipe, Recipe):
            recipes.append(recipe)
        else:
            refused.append((name, str(recipe)))
    version = ".".join(map(str, switch.version))
    title = f"Open vSwitch {version}, select group {switch.group_id} on {switch.bridge}"
    return Forecast("ovs", title, recipes, refused, traps(group, switch), READING)


def attempt(build: Callable[[Group, Switch], Recipe], group: Group, switch: Switch) -> Recipe | AnabranchError:
    """The recipe, or why it cannot be."""
    try:
        return build(group, switch)
    except AnabranchError as error:
        return error


def as_written(group: Group, switch: Switch) -> Recipe:
    """The default, and `selection_method=dp_hash`, with the weights as they are."""
    weights = within(group, WEIGHT_MAX, "OpenFlow")
    installed = _over_paths(group, _buckets(weights), switch)
    living = [weight if up else 0 for weight, up in zip(weights, group.up, strict=True)]
    anew = _over_paths(group, _buckets(living), switch)
    table = _core.dp_hash_slots(weights, switch.max_slots, switch.slots_per_bucket)
    needs = ["about as many datapath flows as slots, for any number of connections"]
    used = len(table or ())
    if table is None:
        needs = [f"does not fit {switch.max_slots} slots: falls back to scoring without a word; {PER_CONNECTION}"]
    line = _add_group(group, _buckets(weights), switch, _dp_hash_method(switch))
    size = (used, switch.max_slots, "slots")
    gain = "the weights as they are, few datapath flows"
    own = None if table is None else own_hash.by_slots(_buckets(weights), group.up, switch.sizing, switch.parameter)
    return recipe(group, "dp_hash", f"weights {short(weights)}", (installed, anew), size, gain, needs, [line], own)


def twin_weights(weights: Sequence[str], up: Sequence[bool], slots: int) -> list[tuple[int, int]]:
    """(path from 0, weight) of buckets that sum to `slots` with a least weight of 1, so that dp_hash must take `slots`.

    Webster over `slots`; where no path gets exactly one, the first gives one unit to a twin bucket of its own.

    Raises:
        AnabranchError: more living paths than slots.

    """
    buckets = [(path, w) for path, w in enumerate(_core.webster_slots(list(weights), list(up), slots)) if w]
    if min(weight for _, weight in buckets) > 1:
        path, weight = buckets[0]
        buckets[0] = (path, weight - 1)
        buckets.append((path, 1))
    return buckets


def twin(group: Group, switch: Switch) -> Recipe:
    """`selection_method=dp_hash` with weights that leave Open vSwitch no choice but the most slots."""
    slots = switch.max_slots
    buckets = twin_weights(group.weights, [True] * len(group.up), slots)
    shares = _over_paths(group, buckets, switch)
    anew = _over_paths(group, twin_weights(group.weights, group.up, slots), switch)
    split = len(buckets) - len(dict(buckets))
    written = f"weights {short([weight for _, weight in buckets[: len(buckets) - split]])}"
    if split:
        written += f" +1 to path {buckets[-1][0] + 1}"
    line = _add_group(group, buckets, switch, _dp_hash_method(switch))
    needs = ["two buckets to one port" if split else "weights that sum to the slots, the least being 1"]
    needs.append(f"about {slots} datapath flows, for any number of connections")
    gain = f"any share in {slots}ths, few datapath flows"
    own = own_hash.by_slots(buckets, group.up, switch.sizing, switch.parameter)
    return recipe(group, "dp_hash-twin", written, (shares, anew), (slots, slots, "slots"), gain, needs, [line], own)


def gravity(group: Group, switch: Switch) -> Recipe:
    """`selection_method=hash` with gravity for weights (VALO Eq. 16): round(65535 g)."""
    weights = _core.gravity_weights(list(group.weights), WEIGHT_MAX)
    installed = exact(group.splitter("valo", precision="ovs", on_failure="stale"))
    anew = exact(group.splitter("valo", precision="ovs"))
    buckets = _buckets(weights)
    line = _add_group(group, buckets, switch, _hash_method(switch))
    size = (len(buckets), None, "buckets")
    gain = "the asked shares to 16 bits"
    written = f"weights {short(weights)}"
    own = own_hash.by_score(weights, group.up, switch.parameter)
    return recipe(group, "hash-gravity", written, (installed, anew), size, gain, [PER_CONNECTION], [line], own)


def scored(group: Group, switch: Switch) -> Recipe:
    """`selection_method=hash` with the weights as they are: the shares are volumes of the score graph."""
    weights = within(group, WEIGHT_MAX, "OpenFlow")
    shares = exact(Splitter("scoring", weights, group.up))
    buckets = _buckets(weights)
    line = _add_group(group, buckets, switch, _hash_method(switch))
    size = (len(buckets), None, "buckets")
    gain = "right for equal weights only"
    written = f"weights {short(weights)}"
    own = own_hash.by_score(weights, group.up, switch.parameter)
    return recipe(group, "hash", written, (shares, shares), size, gain, [PER_CONNECTION], [line], own)


def multipath(group: Group, switch: Switch, bound_pct: float) -> Recipe:
    """The action `multipath` and one rule per slot: 256 slots, or more where 256 miss the bound."""
    asked, weights = Splitter("random", group.weights).asked(), list(group.weights)
    for slots in [count for count in SLOT_COUNTS if count >= len(weights)]:
        counts = np.array(_core.webster_slots(weights, [True] * len(weights), slots))
        if mape(asked, counts) <= bound_pct:
            break
    anew = np.array(_core.webster_slots(weights, list(group.up), slots)) / slots
    installed = np.where(group.up, counts / slots, 0.0)
    ofctl = "ovs-ofctl -O OpenFlow15"
    action = f"multipath(symmetric_l3l4+udp,{switch.parameter & 0xFFFF},modulo_n,{slots},0,NXM_NX_REG0[])"
    first = np.cumsum(counts) - counts
    rules = [
        f"table=1,reg0={slot},actions=output:{group.port(path)}"
        for path, (begin, count) in enumerate(zip(first, counts, strict=True))
        for slot in range(begin, begin + count)
    ]
    protocols = [f"{ofctl} add-flow {switch.bridge} 'table=0,{kind},actions={action},resubmit(,1)'" for kind in IP]
    lines = [*protocols, f"{ofctl} add-flows {switch.bridge} - <<'END'", *rules, "END"]
    needs = ["tables 0 and 1, register 0", "rules to a dead port to be rewritten: rules watch no port", PER_CONNECTION]
    gain = "one slot can be moved without touching the others; no OpenFlow 1.5"
    written = f"{slots} rules, one per slot"
    size = (slots, SLOT_COUNTS[-1], "rules")
    own = own_hash.by_rules(np.repeat(np.arange(len(counts)), counts), switch.parameter)
    return recipe(group, "multipath", written, (installed.tolist(), anew.tolist()), size, gain, needs, lines, own)


def traps(group: Group, switch: Switch) -> list[str]:
    """Traps that have cost others a day and apply to this group."""
    notes = [
        "selection_method needs an OpenFlow 1.5 connection; on 1.1 to 1.4 it is dropped without a word",
        "without selection_method the hash is SYM_L4, which leaves out UDP ports: one host pair, one path",
        "watch_port on every bucket: without it traffic keeps going into a dead port",
        "another --param on each switch: with the same one the next stage sends all it gets to one bucket",
        "change a group as a whole (mod-group): before 3.6, insert-buckets leaves the dp_hash table broken",
    ]
    heavy = _core.gravity_weights(list(group.weights), WEIGHT_MAX)
    asked = Splitter("random", group.weights).asked()
    error = mape(asked, exact(Splitter("ovs-dp-hash", heavy, None, **switch.sizing)))
    if error > 1:
        notes.insert(1, f"never give gravity weights to dp_hash: it would be {error:.0f} % off here")
    if 0 in group.integers:
        notes.append("a bucket of weight 0 is never live: it carries nothing even when it is the last")
    return notes


def _buckets(weights: Sequence[int]) -> list[tuple[int, int]]:
    """(path from 0, weight) of every bucket that can be live."""
    return [(path, weight) for path, weight in enumerate(weights) if weight]


def _over_paths(group: Group, buckets: Sequence[tuple[int, int]], switch: Switch) -> list[float]:
    """Shares of the paths under dp_hash when the dead ones' buckets are passed over."""
    up = [group.up[path] for path, _ in buckets]
    shares = exact(Splitter("ovs-dp-hash", [weight for _, weight in buckets], up, **switch.sizing))
    paths = [path for path, _ in buckets]
    shares_by_path: list[float] = np.bincount(paths, shares, minlength=len(group.up)).tolist()
    return shares_by_path


def _dp_hash_method(switch: Switch) -> str:
    """Algorithm 0 is L4, ports of UDP included; the basis is the parameter's low half."""
    return f"selection_method=dp_hash,selection_method_param={switch.parameter & 0xFFFFFFFF}"


def _hash_method(switch: Switch) -> str:
    return f"selection_method=hash,selection_method_param={switch.parameter},fields({FIELDS})"


def _add_group(group: Group, buckets: Sequence[tuple[int, int]], switch: Switch, method: str) -> str:
    """The command that installs the group. A path keeps its bucket id, a twin has the id after the last path."""
    seen: set[int] = set()
    text = f"group_id={switch.group_id},type=select,{method}"
    for path, weight in buckets:
        bucket_id = path if path not in seen else len(group.up)
        seen.add(path)
        port = group.port(path)
        text += f",bucket=bucket_id={bucket_id},weight={weight},watch_port={port},actions=output:{port}"
    return f"ovs-ofctl -O OpenFlow15 add-group {switch.bridge} '{text}'"
