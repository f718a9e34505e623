"""The page of fabric files: every key of `anabranch control`."""

from __future__ import annotations

from anabranch.cli.reference.keys import Meaning, key_table
from anabranch.cli.reference.markdown import GENERATED
from anabranch.deploy.control import file

SAMPLE = """\
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 1
uplink = { rate = "10 Gbps" }

[policy]
weights = "load"
recipe = "hash-gravity"
owner = 0

[policy.load]
smoothing = 0.3

[listen]
openflow = "tcp:192.0.2.9:6653"
http = "127.0.0.1:9653"

[switch.leaf0]
openflow = "tcp:10.255.0.1:6653"
ovsdb = "tcp:10.255.0.1:6640"
ports = { host0 = "eth1", spine0 = "eth49", spine1 = "eth50" }

[switch.leaf1]
datapath = "ebpf"
scheme = "slots"
namespace = "leaf1"
ports = { host1 = "eth1", spine0 = "eth49", spine1 = "eth50" }

[switch.spine0]
datapath_id = "0000000000000a01"
ports = { leaf0 = "eth1", leaf1 = "eth2" }

[switch.spine1]
datapath_id = "0000000000000a02"
ports = { leaf0 = "eth1", leaf1 = "eth2" }

[leaf.leaf0]
prefixes = ["10.1.0.0/24"]

[leaf.leaf1]
prefixes = ["10.1.1.0/24"]

[host.host0]
addresses = ["10.1.0.1"]

[host.host1]
addresses = ["10.1.1.1"]
"""

WINO = SAMPLE.replace('"load"', '"wino"').replace("[policy.load]\nsmoothing = 0.3\n", "").replace(
    'datapath = "ebpf"\nscheme = "slots"\nnamespace = "leaf1"', 'datapath_id = "0000000000000b01"'
)  # fmt: skip

TABLES = SAMPLE.replace(
    'datapath = "ebpf"\nscheme = "slots"\nnamespace = "leaf1"', 'datapath = "table"\nfolder = "tables/leaf1"'
)

NAMES = (
    (r"^switch\.[a-z]+\d+\.ports\..*$", "switch.NAME.ports"),
    (r"^(switch|leaf|host)\.[a-z]+\d+\.", r"\1.NAME."),
)

ADDRESS = "`unix:PATH`, `tcp:HOST:PORT` or `ssl:HOST:PORT`"

MEANINGS: dict[str, str | Meaning] = {
    "fabric": Meaning("The fabric as built, exactly as in a [scenario](scenario.md).", "required", "a table"),
    "policy.weights": "How weights are found: [policies](control.md#policies).",
    "policy.recipe": "How a weighted group is written into Open vSwitch: [recipes](deploy.md#recipes).",
    "policy.owner": "Mark of the cookies and group numbers that are this controller's.",
    "policy.load": Meaning(
        "Settings of the policy of that name; every policy may have such a table.", "empty", "a table"
    ),
    "policy.load.smoothing": "Weight of the newest measurement in the average.",
    "policy.load.threshold": "Difference of shares from which installed ones are changed.",
    "policy.load.floor": "Part of a path that counts as free even if it is full.",
    "policy.wino": Meaning("Settings of the policy of that name: [Wino](wino.md).", "empty", "a table"),
    "policy.wino.slice_min": "Least slice; the paper's bound for meters that err by less than 2 % over 15 ms. A path "
    "with less is not sliced.",
    "policy.wino.slice_max": Meaning("Largest slice; the paper's testbed has 1 Gbps on links of 10.", "none"),
    "policy.wino.quantum": Meaning(
        "What paths have left is rounded down to multiples of it.", "10 Mbps; 1 Mbps below 1 Gbps"
    ),
    "policy.wino.label_bits": "Bits of labels, of the six of DSCP: 63 slices for a pair of leaves.",
    "policy.wino.pick": "Slice size where the common divisor is below `slice_min`, makes too many slices, or is one of "
    "measured rates: the size that loses least to waste and meters, the least allowed, or the one that wastes least.",
    "policy.wino.meters": "Whether slices have limits. A meter drops; without meters slices are weighted spraying.",
    "policy.wino.burst": "Burst of a meter, as time at its rate; two frames at least.",
    "policy.wino.frame": "Largest frame in bytes, for that least burst.",
    "policy.wino.hysteresis": "Part of a link's rate by which other traffic must change until slices are cut anew.",
    "policy.wino.retire": "Time for which labels that ended are still forwarded as slices.",
    "listen.openflow": Meaning("Address that switches may connect to.", "none", ADDRESS),
    "listen.http": Meaning("Address of the [pages](control.md#pages).", values='`HOST:PORT`, or `"off"`'),
    "tls.key": Meaning("PEM file of the key, for all addresses that begin with `ssl:`.", "none", "a file"),
    "tls.certificate": Meaning("PEM file of the certificate.", "none", "a file"),
    "tls.authority": Meaning("PEM file of the authority whose certificates both ends must show.", "none", "a file"),
    "measure.interval": "Time between two readings of counters.",
    "measure.audit": "Time between two readings of a switch's tables while nothing changes.",
    "damping.use": "Whether links that flap are left down.",
    "damping.suppress": "Penalty from which a link is left down. Every loss adds 1.",
    "damping.reuse": "Penalty below which the link is used again; less than `suppress`.",
    "damping.half_life": "Time in which a penalty halves.",
    "switch.NAME.openflow": Meaning(
        "Address of the bridge. Left out, the bridge connects to `listen.openflow`.", "none", ADDRESS
    ),
    "switch.NAME.ovsdb": Meaning("Address of its database. Bridges may share one.", "none", ADDRESS),
    "switch.NAME.datapath_id": Meaning(
        "Datapath id; required if the switch connects to us, checked in any case.", "none"
    ),
    "switch.NAME.ports": Meaning(
        'Interface by neighbour, as in `{ spine0 = "eth49" }`; a list for parallel links.', "required", "a table"
    ),
    "switch.NAME.datapath": '`"openflow"` is a bridge; `"ebpf"` a [datapath in this machine\'s '
    "kernel](control.md#datapaths-in-the-kernel), which has no `openflow`, `ovsdb` and `datapath_id`, but the next "
    'three keys; `"table"` [tables in a file](control.md#tables-in-files), which has `folder` and `recipe`.',
    "switch.NAME.scheme": "Program that splits.",
    "switch.NAME.pause": Meaning(
        "Gap of `flowlet`, or silence after which `flow_cycle` forgets a flow's turn.",
        '`flowlet`: `"500 us"`, `flow_cycle`: `"100 ms"`',
    ),
    "switch.NAME.namespace": Meaning(
        "Network namespace of its ports: a name of `ip netns`, or a file.", "the controller's own"
    ),
    "switch.NAME.folder": Meaning("Folder of a switch's tables; each switch has its own.", "required", "a folder"),
    "switch.NAME.recipe": "Technique and number of entries of its tables.",
    "leaf.NAME.prefixes": Meaning(
        "Prefixes that other switches send towards this leaf, besides the addresses of its hosts.",
        "none",
        "a list of prefixes",
    ),
    "host.NAME.addresses": Meaning("Addresses that the host's leaf sends to its port.", "none", "a list of addresses"),
}


def page() -> str:
    """The page `fabric-file.md`."""
    return f"""# Fabric files

{GENERATED}

`anabranch control` reads a fabric file: the fabric as built, where its switches are, which addresses are behind
which leaf, and how to plan; [how it works](control.md). Unknown keys and values are errors that name file, key and
value and give a hint. `examples/fabric.toml` is a file to start from; `anabranch lab up` writes one for a lab.

```toml
{SAMPLE}```

{key_table(file.parse, [SAMPLE, WINO, TABLES], MEANINGS, NAMES)}"""
