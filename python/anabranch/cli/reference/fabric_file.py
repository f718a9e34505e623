"""The page of fabric files: every key of `anabranch control`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anabranch.cli.reference.keys import key_rows
from anabranch.cli.reference.markdown import GENERATED
from anabranch.deploy.control import file, policy
from anabranch.deploy.control.switch_kind import SwitchKind, kinds
from anabranch.files.settings import REQUIRED, Key, asked

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

NEIGHBOURS = {
    "leaf0": ("host0", "spine0", "spine1"),
    "leaf1": ("host1", "spine0", "spine1"),
    "spine0": ("leaf0", "leaf1"),
    "spine1": ("leaf0", "leaf1"),
}
OWN = "switch.NAME."


def of_kind(kind: SwitchKind[Any], weights: str = "equal") -> str:
    """A file whose switches are all of one kind, with a policy."""
    head, _, rest = SAMPLE.partition("[switch.leaf0]")
    head = head.replace('"load"', f'"{weights}"').replace("[policy.load]\nsmoothing = 0.3\n", "")
    switches = []
    for name, neighbours in NEIGHBOURS.items():
        ports = ", ".join(f'{neighbour} = "{neighbour}"' for neighbour in neighbours)
        own = kind.example_of(name, neighbours)
        switches.append(f'[switch.{name}]\ndatapath = "{kind.datapath}"\n{own}\nports = {{ {ports} }}\n\n')
    return head + "".join(switches) + rest[rest.index("[leaf.leaf0]") :]


def samples() -> Iterator[str]:
    """Files that together ask for every key: one for each policy and each kind of switches."""
    yield SAMPLE
    yield from (of_kind(kinds()[0], name) for name in policy.names())
    yield from map(of_kind, kinds())


def keys() -> dict[str, Key]:
    """Every key by its path; the meaning of those that only some kinds of switches have says which."""
    every = asked(file.parse, samples())
    by_kind = {kind.datapath: asked(file.parse, [of_kind(kind)]).keys() for kind in kinds()}
    for path, key in every.items():
        having = [datapath for datapath, paths in by_kind.items() if path in paths]
        if path.startswith(OWN) and len(having) < len(by_kind):
            only = "with `datapath = " + " or ".join(f'"{datapath}"' for datapath in having) + "`"
            otherwise = f"{REQUIRED} {only}" if key.otherwise == REQUIRED else key.otherwise
            every[path] = key._replace(meaning=f"{key.meaning} Only {only}.", otherwise=otherwise)
    return every


def page() -> str:
    """The page `fabric-file.md`."""
    return f"""# Fabric files

{GENERATED}

`anabranch control` reads a fabric file: the fabric as built, where its switches are, which addresses are behind
which leaf, and how to plan; [how it works](control.md). Unknown keys and values are errors that name file, key and
value and give a hint. `examples/fabric.toml` is a file to start from; `anabranch lab up` writes one for a lab.

```toml
{SAMPLE}```

{key_rows(keys())}"""
