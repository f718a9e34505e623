"""`fabric.toml`: what it says, and what its errors say."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import AnabranchError
from anabranch.deploy.control.file import parse, read
from anabranch.deploy.control.topology import End

FILE = """
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 1

[policy]
weights = "equal"
owner = 3

[listen]
openflow = "tcp:127.0.0.1:6653"

[measure]
interval = "250 ms"

[switch.leaf0]
openflow = "unix:/run/leaf0.mgmt"
ports = { spine0 = "l0s0", host0 = "l0h0" }
[switch.leaf1]
openflow = "tcp:10.0.0.2:6653"
ports = { spine0 = "l1s0", host1 = "l1h1" }
[switch.spine0]
datapath_id = "00000000000000aa"
ports = { leaf0 = "s0l0", leaf1 = ["s0l1"] }

[leaf.leaf0]
prefixes = ["10.1.0.0/24"]
[host.host0]
addresses = ["10.1.0.1"]
"""


def test_the_example() -> None:
    found = read(Path(__file__).parents[3] / "examples" / "fabric.toml")
    assert set(found.switches) == {"leaf0", "leaf1", "spine0", "spine1"}


def test_a_whole_file() -> None:
    found = parse(FILE, "fabric.toml")
    assert (found.weights, found.recipe, found.owner) == ("equal", "hash-gravity", 3)
    assert found.interval_s == 0.25
    assert found.switches["spine0"].keys.datapath_id == 0xAA
    assert found.switches["leaf1"].interfaces[End("leaf1", "host1", 0)] == "l1h1"
    assert found.prefixes["leaf0"] == (ipaddress.ip_network("10.1.0.0/24"),)
    assert found.addresses["host0"] == (ipaddress.ip_network("10.1.0.1/32"),)
    assert found.http == "127.0.0.1:9653"
    assert found.damping is not None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('weights = "equal"', 'weights = "equall"', "policy.weights: equall: unknown; did you mean equal?"),
        ('weights = "equal"', 'weight = "equal"', "policy.weight: unknown key; did you mean weights?"),
        ("owner = 3", "owner = 256", "policy.owner: 256: give a whole number from 0 to 255"),
        ("owner = 3", "owner = true", "policy.owner: True: give a whole number from 0 to 255"),
        ('"250 ms"', '"250 parsec"', "measure.interval: 250 parsec: give a time from 0.01 s"),
        ("[switch.leaf1]", "[switch.leaf2]", "switch.leaf2: no node of the fabric; did you mean leaf"),
        ("[switch.leaf1]", "[switch.host1]", "switch.host1: no switch"),
        ('"unix:/run/leaf0.mgmt"', '"/run/leaf0.mgmt"', "switch.leaf0.openflow: /run/leaf0.mgmt: not unix: or tcp:"),
        ('"tcp:10.0.0.2:6653"', '"tcp:10.0.0.2"', "switch.leaf1.openflow: tcp:10.0.0.2: not tcp:HOST:PORT"),
        ('"tcp:10.0.0.2:6653"', '"ssl:10.0.0.2:6653"', "tls: missing, and ssl:10.0.0.2:6653 needs it"),
        ('"tcp:10.0.0.2:6653"', '"unix:/run/leaf0.mgmt"', "switch.leaf1.openflow: unix:/run/leaf0.mgmt: leaf0 has it"),
        ('host1 = "l1h1"', 'host0 = "l1h1"', "switch.leaf1.ports.host0: no neighbour of leaf1; did you mean host1?"),
        (', host1 = "l1h1"', "", "switch.leaf1.ports.host1: missing; give the interface"),
        ('["s0l1"]', '["s0l1", "more"]', "switch.spine0.ports.leaf1: ['s0l1', 'more']: 1 links lead there"),
        ('["s0l1"]', '["s0l0"]', "an interface stands there twice"),
        ('datapath_id = "00000000000000aa"', "", "switch.spine0.datapath_id: missing, and the switch comes to us"),
        ('"00000000000000aa"', '"xx"', "switch.spine0.datapath_id: xx: give 16 hexadecimal digits"),
        ('[listen]\nopenflow = "tcp:127.0.0.1:6653"', "", "switch.spine0.openflow: missing; give where it is reached"),
        ('"10.1.0.0/24"', '"10.1.0.5/24"', "leaf.leaf0.prefixes: 10.1.0.5/24: 10.1.0.5/24 has host bits set"),
        ('["10.1.0.1"]', '["10.1.0.0/24"]', "host.host0.addresses: 10.1.0.0/24: a prefix; give an address"),
        ("[leaf.leaf0]", "[leaf.spine0]", "leaf.spine0: no leaf; use one of leaf0, leaf1"),
        ("[policy]", "[damping]\nreuse = 9\n[policy]", "damping.reuse: 9.0: not below suppress, 4; give less"),
        ("[policy]", '[tls]\nkey = "k.pem"\n[policy]', "tls.certificate: missing; give the name of a PEM file"),
        ("[policy]", "[polcy]\n[policy]", "fabric.toml: polcy: unknown key; did you mean policy?"),
        ("[policy]", "[policy", "fabric.toml: not TOML"),
        ("leaves = 2", "leafs = 2", "fabric.leafs: unknown key"),
    ],
)
def test_errors_name_key_value_and_mend(old: str, new: str, message: str) -> None:
    assert old in FILE
    with pytest.raises(AnabranchError) as raised:
        parse(FILE.replace(old, new, 1), "fabric.toml")
    assert message in str(raised.value)
    assert str(raised.value).startswith("fabric.toml")


@given(st.data())
def test_a_damaged_file_is_an_error_or_a_file(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(FILE)))
    length = data.draw(st.integers(0, 20))
    text = FILE[:start] + data.draw(st.text(max_size=8)) + FILE[start + length :]
    try:
        parse(text, "fabric.toml")
        message = "fabric.toml"
    except AnabranchError as error:
        message = str(error)
    assert message.startswith("fabric.toml")
