"""Plans for the kernel's datapath: what files may say, and what every mistake is answered with."""

from __future__ import annotations

import re
from ipaddress import ip_network

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anabranch as ab
from anabranch import AnabranchError
from anabranch._core import KERNEL_GIVES, KernelGroup, kernel_shares, kernel_turns
from anabranch._core import KERNEL_SCHEMES as PROGRAMS
from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.targets.ebpf import desired as ebpf_wanted
from anabranch.deploy.targets.ebpf import plan_file as ebpf_plan
from anabranch.deploy.targets.ebpf.datapath import DatapathState, fits
from anabranch.deploy.targets.ebpf.desired import desired, refuse_absent
from anabranch.deploy.targets.ebpf.plan_file import EbpfPlan
from anabranch.deploy.targets.ebpf.scheme import KERNEL_SCHEMES
from anabranch.deploy.targets.ebpf.verify import TURNS_OFF
from anabranch.simulate.load_balancers import LACKED
from support.command import anabranch

PLAN = """\
[switch]
dev = ["in"]

[[group]]
name = "a"
match = { ip_dst = "10.2.0.0/16" }
ports = ["e1", "e2", "e3"]
weights = [4, 3, 2]
"""
MARKS = PLAN.replace('ports = ["e1", "e2", "e3"]', 'output = "dscp"\nvalues = [1, 2, 3]')
ANOTHER = '[[group]]\nname = "b"\nmatch = { ip_dst = "10.3.0.0/16" }\nports = ["e1"]\n'
DEVICES = {name: Device(number, name, True, True) for number, name in enumerate(("in", "e1", "e2", "e3"), 1)}


def parsed(text: str) -> EbpfPlan:
    return ebpf_plan.parse(text, "plan.toml")


def test_every_key() -> None:
    text = """\
scheme = "dbb"
counter = "independent"
seed = 7

[switch]
dev = ["eth0", "eth1"]
hook = "egress"
name = "tenant-1"

[[group]]
name = "leaf2"
match = { ip_dst = ["10.2.0.0/16", "fd00:2::/32"] }
output = "flow-label"
values = [1000, 2000]
weights = [2.5, 1]
seed = 8
pause = "50 ms"
error = "0.5%"

[[group]]
name = "rest"
match = { ip_dst = ["0.0.0.0/0", "::/0"] }
ports = ["eth2"]
"""
    plan = parsed(text)
    assert (plan.scheme, plan.counter, plan.devices, plan.hook, plan.name) == (
        "dbb",
        "independent",
        ("eth0", "eth1"),
        "egress",
        "tenant-1",
    )
    leaf, rest = plan.groups
    assert leaf.prefixes == (ip_network("10.2.0.0/16"), ip_network("fd00:2::/32"))
    assert (leaf.output, leaf.values, leaf.ports) == ("flow-label", (1000, 2000), ())
    assert (leaf.weights, leaf.seed, leaf.pause_s, leaf.error_pct) == (("2.5", "1"), 8, 0.05, 0.5)
    assert leaf.members == ("flow-label 1000", "flow-label 2000")
    assert (rest.output, rest.ports, rest.weights, rest.seed, rest.pause_s) == ("redirect", ("eth2",), ("1",), 7, 0.1)


def test_defaults_follow_the_scheme() -> None:
    plan = parsed(PLAN)
    assert (plan.scheme, plan.hook, plan.name, plan.groups[0].pause_s) == ("weighted", "ingress", "plan", 0.0)
    assert parsed('scheme = "letflow"\n' + PLAN).groups[0].pause_s == 500e-6
    wino = parsed('scheme = "wino"\n' + MARKS.replace('output = "dscp"\n', "")).groups[0]
    assert (wino.output, wino.values, wino.pause_s) == ("dscp", (1, 2, 3), 0.1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a =", "plan.toml: not TOML"),
        ('scheme = "wcpm"\n' + PLAN, "plan.toml: scheme: wcpm: unknown; "),
        ('scheme = "rendezvous"\n' + PLAN, "did you mean log-rendezvous?"),
        ('scheme = "conga"\n' + PLAN, "scheme: conga: it needs feedback (news of what became of packets sent earlier)"),
        ('scheme = "drill"\n' + PLAN, "needs backlog (how much waits at each queue), which a program in the kernel's"),
        ('scheme = "hula"\n' + PLAN, "needs probes (probes that travel the fabric and come back)"),
        ('scheme = "ideal"\n' + PLAN, "it is decided beforehand"),
        ('scheme = "wrr"\n' + PLAN, "no program of it has been written; there run ecmp, random"),
        ('counter = "shared"\n' + PLAN, 'counter: shared: of scheme = "dbb" only; leave it out'),
        ('scheme = "dbb"\ncounter = "both"\n' + PLAN, "counter: both: unknown; use one of shared, independent"),
        ("seed = -1\n" + PLAN, "plan.toml: seed: -1: give a whole number from 0 to 4294967295"),
        ("owner = 1\n" + PLAN, "plan.toml: owner: unknown key; "),
        ("[switch]\n", "plan.toml: group: missing; write one as [[group]]"),
        (PLAN.replace('dev = ["in"]', 'name = "a.b"'), "switch.name: a.b: give at most 64 letters, digits, _ and -"),
        (PLAN.replace('dev = ["in"]', 'dev = ["in", "in"]'), "switch.dev: ['in', 'in']: one is there twice"),
        (PLAN.replace('dev = ["in"]', 'hook = "tc"'), "switch.hook: tc: unknown; use one of ingress, egress, xdp"),
        (PLAN.replace('name = "a"', "name = 7"), "group 1.name: 7: give text"),
        (PLAN.replace('name = "a"\n', ""), 'group 1: name: missing; give one, as in name = "to-leaf2"'),
        (PLAN.replace('name = "a"', f'name = "{"a" * 65}"'), "give at most 64 bytes of text"),
        (PLAN + PLAN[PLAN.index("[[group]]") :], "group a: name: there twice"),
        (PLAN + ANOTHER.replace("10.3", "10.2"), "group b: match.ip_dst: 10.2.0.0/16: group a has it too"),
        (PLAN.replace('{ ip_dst = "10.2.0.0/16" }', "{}") + ANOTHER, "group a: match: no ip_dst; with several groups"),
        (PLAN.replace("10.2.0.0/16", "10.2.0.1/16"), "group a.match.ip_dst: 10.2.0.1/16: 10.2.0.1/16 has host bits"),
        (PLAN.replace("ip_dst =", "tcp_dst = 80, ip_dst ="), "group a.match.tcp_dst: given: the kernel's datapath"),
        (PLAN.replace('ports = ["e1", "e2", "e3"]\n', ""), "group a: ports: missing; give the device of each path"),
        (PLAN.replace('"e3"]', '"e1"]'), "group a.ports: ['e1', 'e2', 'e1']: one is there twice"),
        (PLAN.replace("[4, 3, 2]", "[4, 3]"), "group a.weights: [4, 3]: give one per path, 3 of them"),
        (PLAN.replace("[4, 3, 2]", "[0, 0, 0]"), "plan.toml: group a: weights"),
        (PLAN.replace("[4, 3, 2]", "[4, -3, 2]"), "plan.toml: group a: weights"),
        ('scheme = "ecmp"\n' + PLAN, "group a.weights: given: ecmp splits equally; leave them out"),
        (
            PLAN + 'output = "mark"\n',
            "group a.output: mark: unknown; use one of redirect, route, dscp, flow-label, tunnel-port",
        ),
        (PLAN + "values = [1, 2, 3]\n", "group a.values: given: output redirect marks nothing: give ports"),
        (
            PLAN + 'output = "dscp"\n',
            "group a.ports: ['e1', 'e2', 'e3']: output dscp marks packets: give values instead",
        ),
        (MARKS.replace("values = [1, 2, 3]\n", ""), "group a: values: missing; give whole numbers from 0 to 63"),
        (MARKS.replace("[1, 2, 3]\nw", "[1, 2, 64]\nw"), "group a.values: 64: give whole numbers from 0 to 63"),
        (MARKS.replace("[1, 2, 3]\nw", "[1, 2, 2]\nw"), "group a.values: [1, 2, 2]: one is there twice"),
        (MARKS.replace('dev = ["in"]', 'hook = "xdp"'), "group a: output: dscp: the hook xdp redirects only"),
        (
            'scheme = "wino"\n' + PLAN + 'output = "redirect"\n',
            "group a.output: redirect: wino marks packets and lets switches send them",
        ),
        (PLAN + 'pause = "1 ms"\n', "group a.pause: given: weighted knows no pauses"),
        (
            'scheme = "letflow"\n' + PLAN + 'pause = "1 day"\n',
            "group a.pause: 1 day: give a time from 1e-06 s to 3600 s",
        ),
        (PLAN + 'error = "0%"\n', "group a.error: 0%: give a percentage above 0"),
        (
            PLAN.replace('"e1", "e2", "e3"', ", ".join(f'"e{n}"' for n in range(65))),
            "group a.ports: 65 of them: give at",
        ),
    ],
)
def test_mistakes_name_file_key_value_and_mend(text: str, said: str) -> None:
    with pytest.raises(AnabranchError) as raised:
        parsed(text)
    assert str(raised.value).startswith("plan.toml: ")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_runs_in_the_kernel_and_why_the_rest_does_not() -> None:
    named = {balancer.name: balancer for balancer in ab.schemes()}
    used = {program for scheme in KERNEL_SCHEMES.values() for program in scheme.programs}
    assert used | set(named["dbb"].programs) == set(PROGRAMS)
    techniques = {technique.name for technique in ab.techniques()}
    assert set(KERNEL_SCHEMES) <= {*named, *techniques}
    for balancer in named.values():
        reason = balancer.why_no_program
        assert bool(reason) != bool(balancer.programs)
        # The compiled half says what a kernel gives; the words here must not say otherwise.
        lacking = [need for need in balancer.needs if need not in KERNEL_GIVES]
        assert balancer.fits_kernel == (not lacking and balancer.decided_by != "beforehand")
        assert all(LACKED[need] in reason for need in lacking)
        if balancer.name in KERNEL_SCHEMES:
            assert balancer.fits_kernel


def test_the_list_of_schemes_says_it() -> None:
    shown = anabranch("schemes").stdout
    assert re.search(r"^letflow .* flowlet ", shown, re.MULTILINE)
    page = anabranch("schemes", "show", "valo").stdout
    assert "eBPF: score" in page
    assert "not as eBPF" not in page
    lacking = " ".join(anabranch("schemes", "show", "drill").stdout.split())
    assert "not as eBPF it needs backlog (how much waits at each queue), which a program in" in lacking


def test_members_without_a_carrier_are_masked_and_told() -> None:
    dead = DEVICES | {"e2": Device(3, "e2", True, False)}
    target = desired(parsed(PLAN), dead, None)
    (one,) = target.groups
    assert one.kernel.up == [True, False, True]
    assert one.asked == pytest.approx((4 / 6, 0, 2 / 6))
    assert kernel_shares("slots", one.kernel) == pytest.approx(one.asked, abs=1 / 4096)
    assert target.warnings == ("group a: masked without a carrier: e2; in force are e1 66.67 %, e3 33.33 %",)
    none = desired(
        parsed(PLAN), {name: Device(one.index, name, name == "in", False) for name, one in DEVICES.items()}, None
    )
    assert "none lives that should carry some: its packets are dropped" in none.warnings[0]
    with pytest.raises(
        AnabranchError, match="group a: weights: 4294967296: over the 4294967295 of 32 bits; round them"
    ):
        desired(parsed(PLAN.replace("[4, 3, 2]", "[4294967296, 3, 2]")), DEVICES, None)


def test_a_missing_device_is_one_that_is_down() -> None:
    lacking = desired(parsed(PLAN.replace('"e3"', '"e4"')), DEVICES, None)
    (one,) = lacking.groups
    assert one.kernel.up == [True, True, False]
    assert one.asked == pytest.approx((4 / 7, 3 / 7, 0))
    assert lacking.warnings == (
        "group a: masked without a device: e4 (use one of in, e1, e2, e3); in force are e1 57.14 %, e2 42.86 %",
    )
    refuse_absent(parsed(PLAN.replace('"e3"', '"e4"')), DEVICES)
    refuse_absent(parsed(PLAN), {name: Device(1, name, False, False) for name in ("in", "e2")})
    nothing = r"group a: ports: without a device: e1 \(use one of in\), e2 .*make one first"
    with pytest.raises(AnabranchError, match=nothing):
        refuse_absent(parsed(PLAN), {"in": DEVICES["in"]})
    # What was there keeps its number: nothing differs from what --follow leaves behind.
    gone = {name: device for name, device in DEVICES.items() if name != "e3"}
    before = held(desired(parsed(PLAN), DEVICES | {"e3": Device(4, "e3", False, False)}, None))
    assert desired(parsed(PLAN), gone, before).groups[0].kernel.targets == [2, 3, 4]
    both = desired(parsed(PLAN), gone | {"e2": Device(3, "e2", True, False)}, before)
    assert both.warnings[0].startswith("group a: masked without a carrier: e2 and without a device: e3 (use one of")
    inputs = desired(parsed(PLAN.replace('["in"]', '["inn", "in"]')), DEVICES, None)
    assert inputs.attached == ((1, "ingress"),)
    assert inputs.warnings[0].startswith("switch.dev: inn: no such device; did you mean in?; its packets are not met")


@pytest.mark.parametrize("hook", ["ingress", "egress", "xdp"])
def test_no_output_is_its_own_input(hook: str) -> None:
    text = PLAN.replace("[switch]", f'[switch]\nhook = "{hook}"')
    becomes = "would go in circles until the kernel drops them" if hook == "egress" else "would go back to it"
    for inputs, port in (('["e1"]', "e1"), ('["e2", "e1"]', "e1"), ('["in", "e3"]', "e3")):
        plan = text.replace('["in"]', inputs)
        if hook != "egress" and "in" in inputs:
            # Packets that come in by `in` may leave by e3, which has others for other groups.
            assert parsed(plan).devices == ("in", "e3")
            continue
        with pytest.raises(AnabranchError) as raised:
            parsed(plan)
        assert str(raised.value) == (
            f"plan.toml: group a: ports: {port}: in switch.dev too (hook {hook}): packets taken there {becomes}; "
            "take it out of ports or out of switch.dev"
        )
    # A path of weight 0 carries nothing.
    assert parsed(text.replace('["in"]', '["e3"]').replace("[4, 3, 2]", "[4, 3, 0]")).devices == ("e3",)


def test_an_error_that_the_plan_allows_is_no_note_but_a_bound() -> None:
    wide = PLAN.replace("[4, 3, 2]", "[4294967295, 1, 1]")
    ebpf_wanted.refuse_errors(parsed(wide))
    assert "% off (MAPE), over 1 %" in desired(parsed(wide), DEVICES, None).warnings[0]
    with pytest.raises(AnabranchError) as raised:
        ebpf_wanted.refuse_errors(parsed(wide + 'error = "1%"\n'))
    assert re.fullmatch(
        r"plan.toml: group a: error: 1%: slots_large is \S+e\+06 % off these weights \(MAPE\); `anabranch plan "
        r"--target ebpf --weights 4294967295,1,1` says what is nearer; take that, or allow a larger error",
        str(raised.value),
    )
    ebpf_wanted.refuse_errors(parsed(PLAN + 'error = "1%"\n'))


def held(target: ebpf_wanted.Desired) -> DatapathState:
    return DatapathState(
        target.scheme,
        target.group_capacity,
        target.route_capacity,
        tuple(target.kernel_groups),
        frozenset(target.attached),
    )


def test_the_larger_table_is_taken_where_the_error_asks_and_kept_while_it_is_near_enough() -> None:
    coarse = desired(parsed(PLAN), DEVICES, None)
    assert coarse.scheme == "slots"
    fine = desired(parsed(PLAN.replace("[4, 3, 2]", "[1000, 300, 1]")), DEVICES, held(coarse))
    assert fine.scheme == "slots_large"
    assert not fits(held(coarse), fine)
    # Another program would move most connections: what is there stays.
    back = desired(parsed(PLAN), DEVICES, held(fine))
    assert back.scheme == "slots_large"
    assert fits(held(fine), back)
    wide = desired(parsed(PLAN.replace("[4, 3, 2]", "[65535, 65535, 1]") + 'error = "0.1%"\n'), DEVICES, None)
    assert wide.scheme == "slots_large"
    assert "slots_large is" in wide.warnings[0]


def test_a_seed_that_is_not_given_is_kept() -> None:
    first = desired(parsed(PLAN), DEVICES, None)
    other = KernelGroup("a", ["10.2.0.0/16"], [2, 3, 4], [1, 1, 1], [True] * 3, "redirect", 99)
    kept = desired(parsed(PLAN), DEVICES, DatapathState("slots", 8, 16, (other,), frozenset()))
    assert kept.groups[0].kernel.seed == 99
    assert desired(parsed("seed = 5\n" + PLAN), DEVICES, None).groups[0].kernel.seed == 5
    assert desired(parsed(PLAN.replace('["in"]', '["in"]\nname = "b"')), DEVICES, None).groups != first.groups


@given(st.lists(st.integers(0, 2000), min_size=1, max_size=64).filter(any))
def test_smooth_turns_are_off_by_less_than_verify_allows(weights: list[int]) -> None:
    count = len(weights)
    group = KernelGroup("a", [], list(range(1, count + 1)), weights, [True] * count, "redirect")
    turns = np.array(kernel_turns(group))
    for member, share in enumerate(kernel_shares("cycle", group)):
        # A run's deviation is the difference of two of these sums; whole rounds add nothing.
        sums = np.concatenate([[0.0], np.cumsum((turns == member) - share)])
        assert sums.max() - sums.min() < TURNS_OFF


def test_room_for_groups_and_routes() -> None:
    one = desired(parsed(PLAN), DEVICES, None)
    assert (one.group_capacity, one.route_capacity) == (8, 16)
    text = PLAN + "".join(
        f'[[group]]\nname = "g{n}"\nmatch = {{ ip_dst = "10.{n}.0.0/16" }}\nports = ["e1"]\n' for n in range(10, 30)
    )
    many = desired(parsed(text), DEVICES, held(one))
    assert (many.group_capacity, many.route_capacity) == (32, 32)
    assert not fits(held(one), many)
    assert fits(held(many), one)
    everything = desired(parsed(PLAN.replace('{ ip_dst = "10.2.0.0/16" }', "{}")), DEVICES, held(one))
    assert (everything.group_capacity, everything.route_capacity) == (1, 0)
    assert not fits(held(one), everything)
