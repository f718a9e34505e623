"""The page of plan files: every key of each target."""

from __future__ import annotations

from anabranch.cli.reference.keys import Meaning, key_table
from anabranch.cli.reference.markdown import GENERATED
from anabranch.deploy.targets.ebpf import plan_file as ebpf
from anabranch.deploy.targets.linux import plan_file as linux
from anabranch.deploy.targets.ovs import plan_file as ovs
from anabranch.deploy.targets.table import plan_file as tables

OVS = """\
owner = 1
table = 0
priority = 1000
seed = 7

[switch]
bridge = "br0"
openflow = "ssl:192.0.2.1:6653"
ovsdb = "ssl:192.0.2.1:6640"

[[group]]
name = "leaf2"
match = [
    { ip_dst = ["10.0.2.0/24", "fd00:2::/64"], arp = true },
    { ip = 4, in_port = "host0", ip_src = "10.0.9.0/24", ip_dst = "10.0.3.0/24", tcp_dst = 443 },
]
ports = ["spine0", "spine1", 7]
weights = [4, 3, 2.5]
recipe = "multipath"
slots = 512
error = "1%"
seed = 8
priority = 2000

[[group]]
name = "management"
match = { ip = 4, ip_dscp = 16, vlan_vid = 5 }
ports = ["spine1", "spine0"]
recipe = "failover"
"""

LINUX = """\
owner = 0

[[group]]
name = "to-leaf2"
match = { ip_dst = ["10.2.0.0/16", "10.3.0.0/24"] }
ports = ["eth1", "eth2", "eth3"]
gateways = ["10.9.1.2", "10.9.2.2", ""]
weights = [4, 3, 2]
recipe = "resilient"
buckets = 256
idle_timer = "60 s"
"""

EBPF = """\
scheme = "dbb"
counter = "independent"
seed = 7

[switch]
dev = ["eth0"]
hook = "ingress"
name = "plan"

[[group]]
name = "leaf2"
match = { ip_dst = ["10.0.2.0/24", "fd00:2::/64"] }
ports = ["spine0", "spine1", "spine2"]
weights = [4, 3, 2]
pause = "200 ms"

[[group]]
name = "leaf3"
match = { ip_dst = ["10.0.3.0/24"] }
output = "dscp"
values = [10, 12]
"""

TABLE = """\
owner = 0
seed = 7

[switch]
folder = "tables"

[[group]]
name = "leaf2"
match = { ip_dst = ["10.0.2.0/24"] }
ports = ["uplink1", "uplink2"]
weights = [4, 3]
"""

TRANSPORT_PORTS = "|".join(ovs.PORTS)
NAMES = (
    (r"^group [^.:]+: match", "group.match"),
    (r"^group [^.:]+", "group"),
    (rf"group\.match\.({TRANSPORT_PORTS})$", "group.match." + ", ".join(ovs.PORTS)),
)

NAME = Meaning("The group's name, its identity in the switch: groups may change places in the file.", "required")
WEIGHTS = Meaning(
    "The split that is desired, never gravity weights. 0 carries nothing.", "all equal", "numbers, one per path"
)

GROUP_ERROR = "In the plan it is a bound: a split further off, all paths being up, is refused with status 2. "
UNBOUND = "Left out, a split more than 1 % off its weights is warned of."

OVS_MEANINGS: dict[str, str | Meaning] = {
    "owner": "Mark of the rules, groups and meters that belong to this plan. Plans of different owners share a bridge; "
    "what an owner has there and the plan does not have is removed. `anabranch control` has owner 0 by default.",
    "table": "Table that packets enter. Slots of `multipath` stand in table 200.",
    "priority": "Priority of the rules. The prefix length of `ip_dst` is added, so that the longest prefix wins.",
    "seed": Meaning(
        "Seed of the hash; give another one to each switch. Left out, the switch's seed stays; at first it is the "
        "datapath id.",
        "kept",
    ),
    "switch.bridge": Meaning("Bridge to change. `--bridge` overrides it.", '`"br0"`'),
    "switch.openflow": Meaning(
        "Address of the bridge's OpenFlow connection. `--openflow` overrides it.",
        "`unix:/var/run/openvswitch/BRIDGE.mgmt`",
        "`unix:PATH`, `tcp:HOST:PORT` or `ssl:HOST:PORT`",
    ),
    "switch.ovsdb": Meaning(
        "Address of the database, which is asked where the bridge listens and whether for OpenFlow 1.5. `--ovsdb` "
        "overrides it.",
        "none",
        "the same",
    ),
    "group": Meaning("A table for each group of paths.", "required"),
    "group.name": NAME,
    "group.match": Meaning(
        "Packets of the group: those that any table of the list describes. `{}` is all IP.",
        "required",
        "a table or a list of tables",
    ),
    "group.ports": Meaning(
        "Port of each path. Paths count from 1 in this order; the bucket id in the switch is one less.",
        "required",
        "names or numbers of ports",
    ),
    "group.weights": WEIGHTS,
    "group.recipe": "How the switch is made to split so: [recipes](deploy.md#recipes).",
    "group.error": GROUP_ERROR + "`auto` stays below it, `multipath` by its number of slots; `verify` allows as much. "
    "Left out, `apply` notes a split more than 1 % off.",
    "group.slots": Meaning("Number of slots of `multipath`.", "the fewest that stay below `error`"),
    "group.seed": Meaning("Seed of this group alone.", "`seed`"),
    "group.priority": Meaning("Priority of this group alone.", "`priority`"),
    "group.match.ip_dst": Meaning(
        "Destinations, IPv4 and IPv6; a rule for each.", "any", "prefixes, as in `10.0.2.0/24`"
    ),
    "group.match.ip_src": Meaning("Sources, IPv4 and IPv6; a rule for each.", "any", "prefixes"),
    "group.match.ip": Meaning("Version of IP.", "that of the addresses, else both"),
    "group.match." + ", ".join(ovs.PORTS): Meaning("Transport ports, of one protocol in a table.", "any"),
    "group.match.ip_dscp": Meaning("DSCP of the packet.", "any"),
    "group.match.vlan_vid": Meaning("VLAN of the packet.", "any"),
    "group.match.arp": "Whether ARP questions for the IPv4 addresses in `ip_dst` go along. IPv6 asks by multicast: "
    "give that a rule of your own.",
    "group.match.in_port": Meaning(
        "Ports that packets enter by. A port that the group also sends to is refused, for a switch drops what would "
        "leave where it entered.",
        "any",
        "names or numbers of ports",
    ),
}

LINUX_MEANINGS: dict[str, str | Meaning] = {
    "owner": "Mark of the routes, groups and nexthops that belong to this plan.",
    "group": Meaning("A table for each group of paths.", "required"),
    "group.name": NAME,
    "group.match.arp": "Without effect: the kernel resolves addresses by itself. It may stand there, so that a plan "
    "for a switch is also one for a kernel.",
    "group.match.ip_dst": Meaning("Destinations, all of one IP version.", "required", "prefixes, as in `10.0.2.0/24`"),
    "group.ports": Meaning("Network device of each path.", "required", "names of devices"),
    "group.gateways": Meaning(
        'Gateway of each path, `""` where the destination is on the link.', "none", "addresses, one per path"
    ),
    "group.weights": WEIGHTS,
    "group.recipe": "`resilient` and `auto`: a table of buckets, as few as stay below `error`; a change of weights "
    "moves only what it must. `mpath`: hash-threshold, no table; a change of weights moves up to twice what it must.",
    "group.error": GROUP_ERROR + "`auto` stays below it. " + UNBOUND,
    "group.buckets": Meaning(
        "Buckets of `resilient`. `auto` keeps the number that is installed if it is still near enough, for another "
        "number is another group and moves connections.",
        "as few as stay below `error`",
    ),
    "group.idle_timer": "Silence after which a bucket of `resilient` may change its path.",
    "group.unbalanced_timer": "Time of imbalance after which a bucket of `resilient` changes its path in any case; 0 "
    "means never.",
    "group.table": "Routing table; 254 is `main`.",
    "group.metric": Meaning("Metric of the routes.", "`0`; IPv6: `1024`"),
}

EBPF_MEANINGS: dict[str, str | Meaning] = {
    "scheme": Meaning("How packets are split: [schemes](deploy-ebpf.md#schemes).", values="a name"),
    "counter": "Whose packets take turns under `dbb`: all packets of a group together, on each processor by itself, or "
    "each flow's by itself.",
    "seed": Meaning(
        "Seed of the hash (wyhash32 of addresses, ports and protocol); give another one to each switch. Left out, the "
        "kernel's stays; at first it is made of machine, namespace and name.",
        "kept",
    ),
    "switch.dev": Meaning("Devices whose packets are split.", "`--dev`", "names of devices"),
    "switch.hook": "Where packets are met: as they enter (tc), as they leave (tc), or in the driver.",
    "switch.name": Meaning(
        "Name of the datapath. Datapaths of other names stand beside it, also on the same device.",
        values="at most 64 letters, digits, `_` and `-`",
    ),
    "group": Meaning("A table for each group of paths.", "required"),
    "group.name": Meaning(
        "The group's identity: counters and tables are kept by it when a plan is replaced.",
        "required",
        "up to 64 bytes",
    ),
    "group.match.ip_dst": Meaning(
        "Destinations; the longest prefix wins. Without it, all IP, in a plan of one group.", "all IP", "prefixes"
    ),
    "group.output": "What is done with a packet: [outputs](deploy-ebpf.md#outputs).",
    "group.ports": Meaning("Device of each path, 64 at most.", "required to redirect", "names of devices"),
    "group.values": Meaning("Value of the marked field for each path.", "required to mark"),
    "group.weights": WEIGHTS,
    "group.error": GROUP_ERROR + "The table of `weighted` stays below it. " + UNBOUND,
    "group.pause": Meaning(
        "Gap between flowlets (`letflow`), or silence after which a flow's counter is forgotten (`dbb` with "
        '`"independent"`, `wino`).',
        '`"500 us"`, `"100 ms"`',
    ),
    "group.seed": Meaning("Seed of this group alone.", "`seed`"),
}


TABLE_MEANINGS: dict[str, str | Meaning] = {
    "owner": "Mark of the groups that belong to this plan. Plans of different owners share a folder.",
    "seed": Meaning("Seed of the hash; give another one to each switch.", "`0`"),
    "switch.folder": Meaning("Folder of the JSON files. `--folder` overrides it.", "`--folder`", "a folder"),
    "group": Meaning("A table for each group of paths.", "required"),
    "group.name": NAME,
    "group.match.ip_dst": Meaning("Destinations. Without it, all IP.", "all IP", "prefixes"),
    "group.ports": Meaning("Name of each path's port.", "required", "names of ports"),
    "group.weights": WEIGHTS,
    "group.recipe": "Technique and number of entries; `auto` is the first that stays below `error`.",
    "group.seed": Meaning("Seed of this group alone.", "`seed`"),
    "group.error": GROUP_ERROR + "`auto` stays below it. " + UNBOUND,
}


def page() -> str:
    """The page `plan-file.md`."""
    return f"""# Plan files

{GENERATED}

A plan says which packets go over which paths in which shares. `anabranch apply`, `diff`, `verify`, `remove` and
`explain --plan` read it. Unknown keys and values are errors that name file, key and value and give a hint. Each
target has keys of its own; a plan of `name`, `match` with `ip_dst` and `arp`, `ports` and `weights` is one for Open
vSwitch and for Linux, if the ports have these names in both.

## Open vSwitch

The target `ovs`, which is the default; [how it works](deploy.md). A plan with every key:

```toml
{OVS}```

{key_table(ovs.parse, [OVS], OVS_MEANINGS, NAMES)}
In a list of values in `match` any may be met; different keys must all be met.

## Linux

The target `linux`: nexthop groups and routes of a kernel; [how it works](deploy-linux.md).

```toml
{LINUX}```

{key_table(linux.parse, [LINUX], LINUX_MEANINGS, NAMES)}
## eBPF

The target `ebpf`: a program on a device; [how it works](deploy-ebpf.md).

```toml
{EBPF}```

{key_table(ebpf.parse, [EBPF], EBPF_MEANINGS, NAMES)}
## Table

The target `table`: groups as JSON files, for switches and hosts that read them.

```toml
{TABLE}```

{key_table(tables.parse, [TABLE], TABLE_MEANINGS, NAMES)}"""
