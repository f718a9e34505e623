"""`plan.toml`: what is read, and what is said of what is wrong."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch import AnabranchError
from anabranch.deploy.openflow.action import ANY
from anabranch.deploy.openflow.tables import Tables
from anabranch.deploy.targets.linux import plan_file as linux_plan
from anabranch.deploy.targets.ovs import desired as rules
from anabranch.deploy.targets.ovs import plan_file
from anabranch.deploy.targets.ovs.change import TablesChange
from anabranch.deploy.targets.ovs.desired import Desired
from anabranch.deploy.targets.ovs.listing import match
from anabranch.deploy.targets.ovs.split import RECIPES

EXAMPLE = Path(__file__).parents[3] / "examples" / "plan.toml"
PORTS = {"host0": 1, "spine0": 2, "spine1": 3, "spine2": 4}
GROUP = '[[group]]\nname = "a"\nmatch = { ip_dst = "10.0.2.0/24" }\nports = ["spine0", "spine1"]\nweights = [4, 3]\n'


def wanted(text: str, present: Tables | None = None, seed: int = 0, ports: Mapping[str, int] = PORTS) -> Desired:
    return rules.desired(plan_file.parse(text, "plan.toml"), ports, present or Tables(), seed)


def matches(text: str) -> list[tuple[int, str]]:
    names = {number: name for name, number in PORTS.items()}
    return sorted((flow.priority, match(flow.match, names)) for flow in wanted(text).groups[0].flows)


def test_the_example_is_read() -> None:
    found = wanted(EXAMPLE.read_text(), seed=9)
    assert [(group.planned.name, group.split.recipe) for group in found.groups] == [
        ("leaf2", "dp_hash-twin"),
        ("web-to-leaf3", "hash-gravity"),
        ("leaf3", "failover"),
    ]
    assert len(found.tables.flows) == 6


@pytest.mark.parametrize(
    ("written", "rules"),
    [
        ("{}", [(1000, "ip"), (1000, "ipv6")]),
        ("{ ip = 6 }", [(1000, "ipv6")]),
        (
            '{ ip_dst = "10.0.2.0/24", arp = true }',
            [(1024, "arp,arp_tpa=10.0.2.0/24"), (1024, "ip,ip_dst=10.0.2.0/24")],
        ),
        (
            '{ ip_dst = ["10.0.2.0/24", "fd00:2::/64"] }',
            [(1024, "ip,ip_dst=10.0.2.0/24"), (1064, "ipv6,ipv6_dst=fd00:2::/64")],
        ),
        (
            '{ in_port = ["host0", 9], ip_src = "10.9.0.0/16", udp_dst = 53 }',
            [
                (1000, "in_port=host0,ip,ip_src=10.9.0.0/16,ip_proto=17,udp_dst=53"),
                (1000, "in_port=port 9,ip,ip_src=10.9.0.0/16,ip_proto=17,udp_dst=53"),
            ],
        ),
        (
            "[{ ip = 4, tcp_dst = 80 }, { ip = 4, ip_dscp = 46 }]",
            [(1000, "ip,ip_dscp=46"), (1000, "ip,ip_proto=6,tcp_dst=80")],
        ),
        ("{ ip = 4, vlan_vid = 5 }", [(1000, "ip,vlan_vid=4101")]),
    ],
)
def test_a_match_is_these_rules(written: str, rules: list[tuple[int, str]]) -> None:
    text = GROUP.replace('{ ip_dst = "10.0.2.0/24" }', written)
    found = matches(text)
    assert [(priority, set(line.split(","))) for priority, line in found] == [
        (priority, set(line.split(","))) for priority, line in rules
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("weights = [4, 3]", "weight = [4, 3]"), "plan.toml: group a.weight: unknown key; did you mean weights?"),
        (("weights = [4, 3]", "weights = [4]"), "group a.weights: [4]: give one per path, 2 of them"),
        (("weights = [4, 3]", "weights = [0, 0]"), "group a: weights"),
        (("weights = [4, 3]", 'recipe = "hash-gravty"'), "hash-gravty: unknown; did you mean hash-gravity?"),
        (("weights = [4, 3]", 'weights = [65535, 56173]\nrecipe = "dp_hash"'), "gravity weights, which dp_hash"),
        (
            ("weights = [4, 3]", 'weights = [4, 3]\nerror = "much"'),
            'error: much: give a percentage above 0, such as "1%"',
        ),
        (("weights = [4, 3]", 'weights = [4, 3]\nrecipe = "failover"'), "leave the weights out"),
        (("weights = [4, 3]", "weights = [4, 3]\nslots = 300"), "slots: 300: give a power of two from 256 to 65536"),
        (
            ('"spine0", "spine1"]', '"spine8", "spine9"]'),
            "group a: ports: spine8, spine9: no port of the bridge; did you mean spine",
        ),
        (("{ ip_dst", '{ in_port = "hos", ip_dst'), "group a: match.in_port: hos: no port of the bridge; did you mean"),
        (('"spine1"]', '"spine0"]'), "one is there twice; name it once and add its weights up"),
        (
            ('"10.0.2.0/24"', '"10.0.2.1/24"'),
            "has host bits set; for the network write 10.0.2.0/24, for the address 10.0.2.1",
        ),
        (('"10.0.2.0/24"', '"10.0.2.0/24", ip = 6'), "group a: match: no packet is all of this"),
        (('"10.0.2.0/24"', '"fd00::/64", arp = true'), "arp: True: no IPv4 address in ip_dst whose ARP could go along"),
        (('"10.0.2.0/24"', '"10.0.2.0/24", tcp_dst = 1, udp_dst = 1'), "tcp, udp: no packet is both"),
        (('"10.0.2.0/24"', '"10.0.2.0/24", arpp = true'), "group a: match.arpp: unknown key; did you mean arp?"),
        (('name = "a"\n', ""), 'group 1: name: missing; give one, as in name = "to-leaf2"'),
        (('match = { ip_dst = "10.0.2.0/24" }\n', ""), "group a: match: missing; give what the packets are"),
        (("[[group]]", "owner = 256\n[[group]]"), "owner: 256: give a whole number from 0 to 255"),
        (("[[group]]", "[group]"), "write each as [[group]]"),
        (("[[group]]", "table = 250\n[[group]]"), "table: 250: packets go on to higher tables only"),
        (("[[group]]", "sead = 3\n[[group]]"), "plan.toml: sead: unknown key; did you mean seed?"),
        (("weights = [4, 3]", f"weights = [4, 3]\n{GROUP}"), "group a: name: there twice; each group has its own"),
        (
            ("weights = [4, 3]", "weights = [4, 3]\n" + GROUP.replace('"a"', '"b"')),
            "group b: match: ip,ip_dst=10.0.2.0/24: group a takes ip,ip_dst=10.0.2.0/24 too; narrow one, or give",
        ),
        (("[[group]]", "[[group]"), "see the syntax at https://toml.io"),
    ],
)
def test_errors_name_file_group_key_value_and_mend(change: tuple[str, str], message: str) -> None:
    with pytest.raises(AnabranchError) as refused:
        wanted(GROUP.replace(*change))
    assert message in str(refused.value)
    assert str(refused.value).startswith("plan.toml: ")


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_port_that_is_not_there_is_left_out_and_named(recipe: str) -> None:
    text = GROUP.replace('"spine1"]', '"spine9", "spine2"]').replace(
        "weights = [4, 3]", f'recipe = "{recipe}"' + "\nweights = [2, 1, 2]" * (recipe != "failover")
    )
    lacking = wanted(text)
    assert lacking.warnings == (
        "group a: left out spine9: no port of the bridge; did you mean spine2? (of a bond, name its members); once "
        "it is there, anabranch apply brings it back",
    )
    ports = {bucket.watch_port for group in lacking.tables.groups for bucket in group.buckets}
    assert ports - {ANY} == {PORTS["spine0"], PORTS["spine2"]}
    shares = lacking.groups[0].split.shares()
    assert shares == pytest.approx([1, 0, 0] if recipe == "failover" else [0.5, 0, 0.5], abs=0.01)
    # Paths keep their numbers, so that what stays keeps its connections.
    whole = wanted(text, ports=PORTS | {"spine9": 9})
    assert not whole.warnings
    first = min(lacking.tables.groups, key=lambda group: group.group_id)
    assert {b.bucket_id: b.watch_port for b in first.buckets if b.bucket_id < 3} == {0: 2, 2: 4}
    # Brought back, all is as if it had never been away.
    back = wanted(text, lacking.tables, ports=PORTS | {"spine9": 9}).tables
    assert recipe == "multipath" or back == whole.tables


def test_failover_begins_with_the_first_port_that_is_there() -> None:
    text = GROUP.replace('"spine0"', '"spine9"').replace("weights = [4, 3]", 'recipe = "failover"')
    assert wanted(text).groups[0].split.shares() == [0, 1]


def test_packets_from_a_port_that_is_not_there_have_no_rule() -> None:
    text = GROUP.replace("{ ip", '{ in_port = ["host0", "host7"], ip')
    lacking = wanted(text)
    assert matches(text) == [(1024, "in_port=host0,ip,ip_dst=10.0.2.0/24")]
    assert lacking.warnings == (
        "group a: match.in_port: left out host7: no port of the bridge; did you mean host0? (of a bond, name its "
        "members); once it is there, anabranch apply brings it back",
    )


def test_an_error_that_the_plan_allows_is_judged_with_all_ports_there() -> None:
    text = GROUP.replace('"spine1"]', '"spine1", "spine9"]').replace(
        "weights = [4, 3]", 'weights = [1, 1, 2]\nrecipe = "hash"\nerror = "1%"'
    )
    with pytest.raises(AnabranchError, match=r"error: 1%: hash is .* off these weights"):
        wanted(text)
    # Off only for want of a port: a note, no refusal.
    even = text.replace("[1, 1, 2]", "[2, 1, 1]").replace('"hash"', '"dp_hash"')
    assert wanted(even).warnings


@pytest.mark.parametrize(
    ("ports", "in_port", "named"),
    [
        ('["spine0", "spine1"]', '["host0", "spine1"]', "spine1"),
        ('["spine0", "spine1"]', "3", "3"),
        ('["spine0", 3]', '"spine1"', "spine1"),
    ],
)
def test_no_output_is_its_own_input(ports: str, in_port: str, named: str) -> None:
    text = GROUP.replace("{ ip", f"{{ in_port = {in_port}, ip").replace('["spine0", "spine1"]', ports)
    with pytest.raises(AnabranchError) as refused:
        wanted(text)
    assert str(refused.value) == (
        f"plan.toml: group a: match.in_port: {named}: in ports too, and a switch sends no packet back to where it came "
        "from: it would be dropped; take it out of in_port or out of ports"
    )
    # A path of weight 0 carries nothing.
    assert wanted(text.replace("[4, 3]", "[4, 0]")).groups


def test_a_longer_prefix_comes_first_and_no_overlap_is_left_to_the_switch() -> None:
    both = GROUP + GROUP.replace('"a"', '"b"').replace("10.0.2.0/24", "10.0.2.128/25")
    assert {flow.priority for flow in wanted(both).tables.flows} == {1024, 1025}


def test_names_keep_their_numbers_whatever_their_order() -> None:
    other = GROUP.replace('"a"', '"b"').replace("10.0.2.0", "10.0.3.0")
    before = wanted(GROUP + other, seed=5).tables
    third = GROUP.replace('"a"', '"c"').replace("10.0.2.0", "10.0.4.0")
    after = wanted(third + other + GROUP, before, seed=6).tables
    assert after.flows > before.flows
    assert after.groups > before.groups
    # A number that was given up is the next one's.
    last = wanted(third + GROUP, wanted(other + GROUP, before).tables).groups
    assert [group.split.index for group in last] == [1, 0]


def test_auto_keeps_the_recipe_that_is_near_enough() -> None:
    """A recipe that changes moves most connections; new weights that fit the old one move few."""
    exact = GROUP.replace("[4, 3]", "[9, 7]").replace("weights", 'error = "0.1%"\nweights')
    plain = wanted(exact)
    assert plain.groups[0].split.recipe == "dp_hash"
    uneven = exact.replace("[9, 7]", "[4, 3]")
    gravity = wanted(uneven, plain.tables)
    assert gravity.groups[0].split.recipe == "hash-gravity"
    assert wanted(exact, gravity.tables).groups[0].split.recipe == "hash-gravity"
    fixed = GROUP.replace("weights", 'recipe = "multipath"\nweights')
    slotted = wanted(fixed)
    kept = wanted(GROUP.replace("[4, 3]", "[5, 3]"), slotted.tables)
    assert kept.groups[0].split.recipe == "multipath"
    change = TablesChange.between(slotted.tables, kept.tables)
    # 146 of 256 slots become 160; a group of gravity weights changes with them.
    assert len(change.mods) == 14 + 1


def test_multipath_takes_the_fewest_slots_that_are_near_enough() -> None:
    text = GROUP.replace("[4, 3]", "[1000, 1]").replace("weights", 'recipe = "multipath"\nerror = "3%"\nweights')
    assert wanted(text).groups[0].split.slot_count == 1024
    assert wanted(text.replace('error = "3%"', "slots = 256")).groups[0].split.slot_count == 256
    with pytest.raises(AnabranchError, match="error: 3%: multipath is 146 % off these weights"):
        wanted(text.replace("error", "slots = 256\nerror"))


def test_ports_may_be_numbers_of_a_bridge_without_names() -> None:
    found = wanted(GROUP.replace('["spine0", "spine1"]', "[7, 8]"), ports={})
    assert found.groups[0].split.ports == (7, 8)


def test_the_plan_of_the_readme_is_one_for_a_switch_and_for_a_kernel() -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text()
    (text,) = re.findall(r"```toml\n(# plan\.toml\n.*?)```", readme, re.DOTALL)
    (in_switch,) = plan_file.parse(text, "plan.toml").groups
    (in_kernel,) = linux_plan.parse(text, "plan.toml").groups
    assert in_switch.where[0].arp
    assert tuple(hop.device for hop in in_kernel.hops) == in_switch.ports
    assert in_kernel.weights == in_switch.weights
    assert in_kernel.prefixes == in_switch.where[0].ip_dst
    with pytest.raises(AnabranchError, match="arp: 1: give true or false"):
        linux_plan.parse(text.replace("arp = true", "arp = 1"), "plan.toml")


def test_the_plans_of_the_guide_are_read() -> None:
    docs = EXAMPLE.parent.parent / "docs"
    (least,) = re.findall(r"```toml\n(.*?)```", (docs / "deploy.md").read_text(), re.DOTALL)
    reference, _, _ = (docs / "plan-file.md").read_text().partition("## Linux")
    (full,) = re.findall(r"```toml\n(.*?)```", reference, re.DOTALL)
    assert len(wanted(least).tables.flows) == 2
    found = wanted(full)
    assert [group.split.recipe for group in found.groups] == ["multipath", "failover"]
    # Every key has its line.
    keys = {key for line in full.splitlines() for key in re.findall(r"(\w+) =", line)}
    documented = set(re.findall(r"\w+", " ".join(re.findall(r"^\| `([^`]+)`", reference, re.MULTILINE))))
    assert keys <= documented


@pytest.mark.parametrize(
    ("first", "second", "meet"),
    [
        ("{ ip = 4 }", '{ ip_src = "10.0.0.0/8" }', True),
        ("{ ip = 6 }", '{ ip_src = "10.0.0.0/8" }', False),
        ('{ ip_src = "10.0.0.0/8" }', '{ ip_src = "10.1.0.0/16", tcp_dst = 80 }', True),
        ('{ ip_src = "10.2.0.0/16" }', '{ ip_src = "10.1.0.0/16", tcp_dst = 80 }', False),
        ("{ tcp_dst = 80 }", "{ udp_dst = 80 }", False),
        ("{ tcp_dst = 80 }", "{ tcp_src = 80 }", True),
        ('{ in_port = "host0" }', '{ in_port = ["spine2", "host0"] }', True),
    ],
)
def test_rules_that_meet_are_found(first: str, second: str, meet: bool) -> None:
    of = GROUP.replace('{ ip_dst = "10.0.2.0/24" }', "{}")
    one, other = of.replace("{}", first), of.replace('"a"', '"b"').replace("{}", second)
    for text in (one + other, other + one):
        if meet:
            with pytest.raises(AnabranchError, match=r"group [ab] takes .* too"):
                wanted(text)
        else:
            assert len(wanted(text).groups) == 2
    assert any(rules.meeting(wanted(one).tables.flows, wanted(other).tables.flows)) == meet


KEYS = [
    *("owner", "table", "priority", "seed", "switch", "switch.bridge"),
    *(f"group.{key}" for key in ("name", "match", "ports", "weights", "recipe", "error", "slots", "seed", "priority")),
    *(f"match.{key}" for key in ("ip_dst", "ip", "in_port", "tcp_dst", "arp")),
]
VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.sampled_from([0, 1, 2, 4, 6, 256, 1000, "spine0", "10.0.0.0/8", "fd00::/16", "multipath", "auto", "1%"])
    | st.floats()
    | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["ip_dst", "ip", "x"]), inner, max_size=2)
    ),
    max_leaves=6,
)


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)


@settings(max_examples=400, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), VALUES, min_size=1, max_size=4))
def test_whatever_stands_in_a_plan_is_taken_or_refused(given: Mapping[str, object]) -> None:
    places: dict[str, dict[str, str]] = {
        "": {},
        "group": {"name": '"a"', "ports": '["spine0", "spine1"]', "match": "{}"},
        "match": {},
        "switch": {},
    }
    for path, value in given.items():
        place, _, key = path.rpartition(".")
        places[place][key] = toml(value)
    if places["match"]:
        places["group"]["match"] = "{" + ", ".join(f"{key} = {value}" for key, value in places["match"].items()) + "}"
    if places["switch"]:
        places[""].pop("switch", None)
    lines = [f"{key} = {value}" for key, value in places[""].items()]
    for head, place in (("[switch]", "switch"), ("[[group]]", "group")):
        if places[place]:
            lines += [head, *(f"{key} = {value}" for key, value in places[place].items())]
    with contextlib.suppress(AnabranchError):
        wanted("\n".join(lines))
