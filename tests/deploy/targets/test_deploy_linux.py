"""Plans in a real kernel: applied, compared, verified and removed in network namespaces of their own."""

from __future__ import annotations

import time
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import AnabranchError
from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.targets.linux import plan_file as linux_plan
from anabranch.deploy.targets.linux.change import steps
from anabranch.deploy.targets.linux.desired import Desired, desired
from anabranch.deploy.targets.linux.observe import LinuxState
from anabranch.deploy.targets.linux.plan_file import LinuxPlan
from support.command import Run
from support.linux_links import PLAN, busied, ip, links, on_linux, written
from support.own_namespace import in_own_namespace
from support.verdict import as_planned

MPATH = 'recipe = "mpath"\n'
GROUP = 0xAB000000
PATIENCE_S = 60.0
DEVICES = {f"e{number}": Device(number, f"e{number}", True, True) for number in (1, 2, 3)}


def verified_by_look_ups(plan: Path) -> Run:
    """Other look-ups at each trial: the kernel's hash has a key that is another after every boot."""
    return as_planned(lambda trial: on_linux("verify", plan, "--connections", str(20_000 + trial)))


@in_own_namespace
def test_a_plan_goes_in_is_verified_and_comes_out(tmp_path: Path) -> None:
    links()
    ip("nexthop", "add", "id", "7", "dev", "e1", "protocol", "static")
    ip("route", "add", "10.77.0.0/16", "nhid", "7")
    before = ip("nexthop"), ip("route")
    plan = written(tmp_path, PLAN)
    dry = on_linux("apply", plan, "--dry-run")
    assert dry.returncode == 0
    assert "+ route 10.2.0.0/16 table 254 metric 0 -> group 0xab000000" in dry.stdout
    assert (ip("nexthop"), ip("route")) == before
    assert on_linux("diff", plan).returncode == 1
    done = on_linux("apply", plan)
    assert done.returncode == 0, done.stderr
    assert done.stdout.replace("made; this owner has", "to make; this owner will have") == dry.stdout
    held = ip("nexthop", "show", "id", str(GROUP))
    assert "type resilient buckets 128 idle_timer 1 unbalanced_timer 10" in held
    assert "proto 171" in held
    assert [line for line in ip("route").splitlines() if line.startswith("10.2.0.0/16")]
    again = on_linux("diff", plan)
    assert (again.returncode, again.stdout) == (0, "nothing to do; this owner has: 3 nexthops, 1 groups, 2 routes\n")
    verified = on_linux("verify", plan)
    assert (verified.returncode, "as planned: exactly" in verified.stdout) == (0, True)
    assert "128 buckets" in verified.stdout
    assert "connections: without effect" in on_linux("verify", plan, "--connections", "9").stdout
    removed = on_linux("remove", plan)
    assert removed.returncode == 0, removed.stderr
    assert (ip("nexthop"), ip("route")) == before


@in_own_namespace
def test_a_lost_carrier_is_seen_and_healed(tmp_path: Path) -> None:
    links()
    plan = written(tmp_path, PLAN + MPATH)
    assert on_linux("apply", plan).returncode == 0
    whole = ip("nexthop")
    ip("link", "set", "p2", "down")
    # The kernel takes the way out of the group and forgets it, when it comes round to it (`linkwatch_event`).
    deadline = time.monotonic() + PATIENCE_S
    while "10.9.2.2" in ip("nexthop"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    dead = on_linux("diff", plan)
    assert dead.returncode == 0
    assert "left out without a carrier: 10.9.2.2 on e2" in dead.stdout
    assert "down" in verified_by_look_ups(plan).stdout
    ip("link", "set", "p2", "up")
    back = on_linux("diff", plan)
    assert back.returncode == 1
    assert "+ nexthop 0xab008001 10.9.2.2 on e2" in back.stdout
    assert on_linux("verify", plan).returncode == 1
    assert on_linux("apply", plan).returncode == 0
    assert sorted(ip("nexthop").splitlines()) == sorted(whole.splitlines())
    verified_by_look_ups(plan)
    for number in (1, 2, 3):
        ip("link", "set", f"p{number}", "down")
    none = on_linux("apply", plan)
    assert none.returncode == 2
    assert "none is up; bring one up first" in none.stderr


@in_own_namespace
def test_other_weights_change_the_group_where_the_kernel_can(tmp_path: Path) -> None:
    links()
    plan = written(tmp_path, PLAN)
    assert on_linux("apply", plan).returncode == 0
    written(tmp_path, PLAN.replace("[4, 3, 2]", "[4, 3, 1]"))
    change = on_linux("apply", plan)
    assert change.returncode == 0
    # 128 buckets are near enough for these weights too: the group stays, and with it most connections.
    assert [line[:2] for line in change.stdout.splitlines()[:2]] == ["~-", "~+"]
    assert change.stdout.count("\n") == 3
    verified_by_look_ups(plan)
    # Another kind cannot be changed in place: routes go over to a new group, then the old one goes.
    written(tmp_path, PLAN + MPATH)
    assert on_linux("apply", plan).returncode == 0
    assert f"nhid {GROUP + 1} " in ip("route", "show", "10.2.0.0/16")
    assert f"id {GROUP} " not in ip("nexthop")
    verified_by_look_ups(plan)


@in_own_namespace
def test_buckets_that_wait_for_a_pause_are_told_until_they_have_moved(tmp_path: Path) -> None:
    links(2)
    two = PLAN.replace(', "e3"]', "]").replace(', ""]', "]")

    def resilient(weights: str, idle_s: int) -> Path:
        timers = f'idle_timer = "{idle_s} s"\nunbalanced_timer = "0 s"\n'
        return written(tmp_path, f"{two.replace('[4, 3, 2]', weights)}buckets = 32\n{timers}")

    plan = resilient("[1, 1]", 600)
    assert "still have" not in on_linux("apply", plan).stdout
    busied()
    resilient("[3, 1]", 600)
    note = "group to-leaf2: 8 of 32 buckets still have their old path: each waits until no packet has come for 600 s"
    for verb in ("apply", "diff"):
        told = on_linux(verb, plan)
        assert (told.returncode, note in told.stdout) == (0, True), told.stdout
    assert "nothing to do" in told.stdout
    endless = on_linux("apply", plan, "--wait")
    left = "wait: the plan is put, and what is left may never be done: group to-leaf2: 8 of 32 buckets"
    assert (endless.returncode, left in " ".join(endless.stderr.split())) == (2, True)
    assert on_linux("verify", plan).returncode == 1
    assert ip("nexthop", "bucket", "show", "id", str(GROUP)).count(f"nhid {GROUP + 0x8000} ") == 16
    # Only new settings move them now; the kernel comes round to it by itself.
    resilient("[3, 1]", 1)
    assert on_linux("apply", plan).returncode == 0
    deadline = time.monotonic() + PATIENCE_S
    while "buckets still have" in (told := on_linux("diff", plan)).stdout:
        assert time.monotonic() < deadline, told.stdout
        time.sleep(0.1)
    assert ip("nexthop", "bucket", "show", "id", str(GROUP)).count(f"nhid {GROUP + 0x8000} ") == 24


@in_own_namespace
def test_what_is_somebody_elses_stands_and_all_or_nothing(tmp_path: Path) -> None:
    links()
    ip("route", "add", "10.3.0.0/24", "dev", "e3", "metric", "0")
    before = ip("nexthop"), ip("route")
    plan = written(tmp_path, PLAN)
    refused = on_linux("apply", plan)
    assert refused.returncode == 2
    assert "10.3.0.0/24 table 254 metric 0" in refused.stderr
    assert "somebody else's route has that prefix, table and metric" in refused.stderr
    # The route to 10.2.0.0/16 had been made by then, and is gone again.
    assert (ip("nexthop"), ip("route")) == before
    written(tmp_path, PLAN + "metric = 5\n")
    assert on_linux("apply", plan).returncode == 0
    ip("route", "add", "10.88.0.0/16", "nhid", str(GROUP))
    used = on_linux("remove", plan)
    assert used.returncode == 2
    assert "somebody else's route 10.88.0.0/16 table 254 metric 0 uses it" in used.stderr
    ip("route", "del", "10.88.0.0/16")
    assert on_linux("remove", plan).returncode == 0
    assert (ip("nexthop"), ip("route")) == before


@in_own_namespace
def test_two_owners_and_a_policy_that_hashes_no_ports(tmp_path: Path) -> None:
    links()
    Path("/proc/sys/net/ipv4/fib_multipath_hash_policy").write_text("0")
    host = PLAN.replace('["10.2.0.0/16", "10.3.0.0/24"]', '"10.2.0.9/32"')
    plan = written(tmp_path, host)
    told = on_linux("apply", plan)
    assert "sysctl -w net.ipv4.fib_multipath_hash_policy=1 hashes them" in told.stdout
    unsure = on_linux("verify", plan)
    assert unsure.returncode == 3
    assert "without ports 1 destination has too few values of the hash" in " ".join(unsure.stdout.split())
    # Without a table it is seen: every connection takes one path.
    written(tmp_path, host + MPATH)
    assert on_linux("apply", plan).returncode == 0
    assert on_linux("verify", plan).returncode == 1
    # Policy 3 hashes what its fields say: first no ports, then source ports.
    Path("/proc/sys/net/ipv4/fib_multipath_hash_policy").write_text("3")
    for fields, count in (("7", 1), ("0x17", 0)):
        Path("/proc/sys/net/ipv4/fib_multipath_hash_fields").write_text(fields)
        noted = on_linux("diff", plan).stdout
        assert noted.count("net.ipv4.fib_multipath_hash_policy=3: ports are not hashed") == count
    written(tmp_path, host)
    assert on_linux("apply", plan).returncode == 0
    other = tmp_path / "other.toml"
    other.write_text("owner = 1\n" + PLAN.replace("10.2.0.0", "10.4.0.0").replace("10.3.0.0", "10.5.0.0"))
    assert on_linux("apply", other).returncode == 0
    assert on_linux("remove", plan).returncode == 0
    assert on_linux("diff", other).returncode == 0


@in_own_namespace
def test_ipv6_and_weights_of_16_bits(tmp_path: Path) -> None:
    if not Path("/proc/net/if_inet6").exists():
        pytest.skip("no IPv6")
    links(2)
    text = '[[group]]\nname = "six"\nmatch = { ip_dst = "fd00:2::/32" }\nports = ["e1", "e2"]\nweights = [1000, 300]\n'
    plan = written(tmp_path, text + MPATH)
    assert on_linux("apply", plan).returncode == 0
    verified_by_look_ups(plan)
    shown = on_linux("remove", plan, "--dry-run").stdout
    assert "e1 weight=1000, e2 weight=300" in shown or "e1 weight=10, e2 weight=3" in shown


def plan_of(text: str) -> LinuxPlan:
    return linux_plan.parse(text, "plan.toml")


def test_a_kernel_of_small_weights_gets_the_nearest() -> None:
    plan = plan_of(PLAN.replace("[4, 3, 2]", "[65535, 3000, 1]") + MPATH)
    found: Desired = desired(plan, LinuxState(), DEVICES, 255)
    (group,) = found.groups
    assert max(group.written) <= 255
    assert min(group.written) >= 1
    assert "takes weights to 255" in found.warnings[0]
    assert desired(plan, LinuxState(), DEVICES, 65535).groups[0].written == (65535, 3000, 1)


def test_steps_lead_from_any_state_to_any_other_and_back() -> None:
    one = desired(plan_of(PLAN), LinuxState(), DEVICES, 65535).state
    two = desired(plan_of(PLAN.replace("[4, 3, 2]", "[1, 0, 9]") + MPATH), one, DEVICES, 65535).state
    assert steps(one, one) == []
    there, back = steps(one, two), steps(two, one)
    assert len(there) == len(back)
    assert {(step.old, step.new) for step in there} == {(step.new, step.old) for step in back}
    # A path without weight is no member, and its nexthop goes.
    assert len(two.nexthops) == 2
    assert {route.prefix for route in two.routes.values()} == {ip_network("10.2.0.0/16"), ip_network("10.3.0.0/24")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "plan.toml: group: missing"),
        ("bridge = 'br0'\n" + PLAN, "plan.toml: bridge: unknown key"),
        (PLAN.replace('name = "to-leaf2"\n', ""), "group 1: name: missing"),
        (PLAN.replace("ip_dst", "ip_src"), "matches destinations only"),
        (PLAN.replace("10.3.0.0/24", "fd00::/64"), "IPv4 beside IPv6: write a group for each"),
        (PLAN.replace("10.3.0.0/24", "10.3.0.1/24"), "has host bits set; for the network write 10.3.0.0/24"),
        (PLAN.replace("[4, 3, 2]", "[4, 3]"), r"weights.*give one per path, 3 of them"),
        (PLAN.replace('"10.9.2.2"', '"10.9.2"'), "gateways: 10.9.2: not an address"),
        (PLAN.replace('"10.9.2.2", ""]', '"10.9.2.2"]'), "give one per port, 3 of them"),
        (PLAN.replace('"e2", "e3"]', '"e2", "e1"]').replace('""]', '"10.9.1.2"]'), "a path is there twice"),
        (PLAN + MPATH + "buckets = 64\n", "mpath has none"),
        (PLAN + "buckets = 60\n", "give a power of two from 32 to 32768"),
        (PLAN + 'recipe = "gravity"\n', "recipe: gravity: unknown"),
        (PLAN + PLAN, "name: there twice"),
        (PLAN + PLAN.replace("to-leaf2", "other"), "group to-leaf2 has it too"),
    ],
)
def test_what_is_wrong_in_a_plan_is_named_with_its_mend(text: str, message: str) -> None:
    with pytest.raises(AnabranchError, match=message):
        plan_of(text)


def test_a_missing_device_is_left_out_as_one_that_is_down() -> None:
    lacking = desired(plan_of(PLAN.replace('"e3"', '"e9"')), LinuxState(), DEVICES, 65535)
    assert lacking.warnings[0].startswith(
        "group to-leaf2: left out without a device: e9 (use one of e1, e2, e3); the kernel does not bring it back"
    )
    down = desired(plan_of(PLAN), LinuxState(), DEVICES | {"e3": replace(DEVICES["e3"], carrier=False)}, 65535)
    assert lacking.state == down.state
    with pytest.raises(AnabranchError, match="none is up; bring one up first"):
        desired(plan_of(PLAN), LinuxState(), {}, 65535)


def test_an_error_that_the_plan_allows_is_no_note_but_a_bound() -> None:
    wide = PLAN.replace("[4, 3, 2]", "[60000, 1, 1]")
    assert (
        "% off (MAPE), over 1 %" in desired(plan_of(wide + "buckets = 32\n"), LinuxState(), DEVICES, 65535).warnings[0]
    )
    bound = plan_of(wide + 'buckets = 32\nerror = "1%"\n')
    for devices in (DEVICES, DEVICES | {"e3": replace(DEVICES["e3"], carrier=False)}):
        with pytest.raises(
            AnabranchError, match=r"plan.toml: group to-leaf2: error: 1%: resilient-32-16bit is .* % off these"
        ):
            desired(bound, LinuxState(), devices, 65535)


WORDS = st.text(max_size=12) | st.sampled_from(["10.0.0.0/8", "1 s", "1%", "mpath"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["ip_dst", "x"]), inner, max_size=2),
    max_leaves=4,
)
KEYS = ["name", "match", "ports", "gateways", "weights", "recipe", "error", "buckets", "idle_timer", "table", "metric"]


@given(st.sampled_from(KEYS), ANYTHING)
def test_any_value_of_any_key_is_read_or_refused_with_its_name(key: str, value: object) -> None:
    good = {"name": "a", "match": {"ip_dst": "10.2.0.0/16"}, "ports": ["e1", "e2", "e3"]}
    said = ""
    try:
        linux_plan.from_table({"group": [good | {key: value}]}, "plan.toml")
    except AnabranchError as error:
        said = str(error)
    assert not said or said.startswith("plan.toml: group ")
