"""`apply`, `diff`, `verify` and `remove` on a real Open vSwitch that an operator uses as well."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from threading import Event, Thread

import pytest

from anabranch.deploy.targets.ovs.daemons import SWITCH, OpenVSwitch
from anabranch.deploy.targets.ovs.ownership import METER
from anabranch.deploy.targets.ovs.split import RECIPES
from support.certificates import make_certificates
from support.command import anabranch
from support.dummy_switch import BRIDGE, PATIENCE_S, connected, dummy_switch, empty, ofctl, run_strictly
from support.operator_bridge import OPERATORS, group, held, held_at_rest, verb, written
from support.reserved_port import reserved_port
from support.verdict import as_planned


@pytest.fixture(scope="module")
def running() -> Iterator[OpenVSwitch]:
    with dummy_switch() as started:
        yield started


@pytest.fixture
def switch(running: OpenVSwitch) -> OpenVSwitch:
    """With an operator's own rules, groups and meters."""

    async def clear() -> None:
        async with connected(running.openflow(BRIDGE)) as connection:
            await empty(connection)

    run_strictly(clear)
    for command, text in OPERATORS:
        ofctl(running, command, text)
    return running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def test_what_is_the_operators_stays_and_what_is_ours_goes(switch: OpenVSwitch, folder: Path) -> None:
    before = held(switch)
    plan = written(folder, group(1), group(2, recipe="multipath"), group(3, recipe="dp_hash-twin"))
    dry = verb("apply", plan, switch, "--dry-run")
    assert "268 changes to make; this owner will have: 6 groups, 262 rules" in dry.stdout
    assert held(switch) == before
    assert verb("diff", plan, switch, status=1).stdout == dry.stdout
    assert "268 changes made; this owner has: 6 groups, 262 rules" in verb("apply", plan, switch).stdout
    installed = held(switch)
    assert set(before) < set(installed)
    assert len(installed) == len(before) + 6 + 262
    for name in ("apply", "diff"):
        assert "nothing to do" in verb(name, plan, switch).stdout
    assert held(switch) == installed
    assert "268 changes made; this owner has: 0 groups, 0 rules" in verb("remove", plan, switch).stdout
    assert held(switch) == before
    assert "nothing to do" in verb("remove", plan, switch).stdout


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_is_installed_reads_back_as_planned(switch: OpenVSwitch, folder: Path, recipe: str) -> None:
    text = group(1, recipe=recipe)
    plan = written(folder, text.replace("weights = [4, 3, 2]\n", "") if recipe == "failover" else text)
    assert "made" in verb("apply", plan, switch).stdout
    assert "nothing to do" in verb("apply", plan, switch).stdout


def test_new_weights_write_whole_groups_and_nothing_else(switch: OpenVSwitch, folder: Path) -> None:
    verb("apply", written(folder, group(1), group(2)), switch)
    before = held(switch)
    run = verb("apply", written(folder, group(1, "[4, 3, 1]"), group(2)), switch)
    changes = [line for line in run.stdout.splitlines() if line[0] in "+-~="]
    assert [line[:20] for line in changes] == ["~- group 0xab010000 ", "~+ group 0xab010000 "]
    after = held(switch)
    (gone,), (come,) = set(before) - set(after), set(after) - set(before)
    assert re.findall(r"bucket_id:(\d+)", gone) == re.findall(r"bucket_id:(\d+)", come) == ["0", "1", "2"]


def test_groups_that_come_and_go_leave_the_others_alone(switch: OpenVSwitch, folder: Path) -> None:
    verb("apply", written(folder, group(1), group(2, recipe="multipath")), switch)
    before = held(switch)
    verb("apply", written(folder, group(9), group(2, recipe="multipath"), group(1)), switch)
    assert set(before) < set(held(switch))
    verb("apply", written(folder, group(2, recipe="multipath"), group(1)), switch)
    assert held(switch) == before


def test_the_seed_stays_what_it_was_when_the_bridge_gets_another_address(switch: OpenVSwitch, folder: Path) -> None:
    plan = written(folder, group(1), head="")
    verb("apply", plan, switch)
    switch.vsctl("set", "bridge", BRIDGE, "other-config:datapath-id=00000000000000ff")
    try:
        assert "nothing to do" in verb("apply", plan, switch).stdout
        verb("remove", plan, switch)
        assert "seed=255" in verb("apply", plan, switch).stdout
    finally:
        switch.vsctl("remove", "bridge", BRIDGE, "other-config", "datapath-id")


def test_what_the_switch_refuses_leaves_all_as_it_was(switch: OpenVSwitch, folder: Path) -> None:
    verb("apply", written(folder, group(1)), switch)
    before = held(switch)
    switch.vsctl(
        "--",
        "--id=@full",
        "create",
        "Flow_Table",
        "flow_limit=7",
        "overflow_policy=refuse",
        "--",
        "set",
        "bridge",
        BRIDGE,
        "flow_tables:0=@full",
    )
    try:
        more = [group(leaf) for leaf in range(2, 9)]
        run = verb("apply", written(folder, group(1, "[1, 1, 1]"), *more), switch, status=2)
        assert "TABLE_FULL" in run.stderr
        assert held(switch) == before
    finally:
        switch.vsctl("clear", "bridge", BRIDGE, "flow_tables")


def test_a_rule_of_the_operators_is_never_replaced(switch: OpenVSwitch, folder: Path) -> None:
    ofctl(switch, "add-flow", "table=0,priority=1024,cookie=0x77,ip,nw_dst=10.0.1.0/24,actions=output:3")
    before = held(switch)
    run = verb("apply", written(folder, group(1)), switch, status=2)
    assert "ip,ip_dst=10.0.1.0/24 -> p3: somebody else's, cookie 0x77; give the group another priority" in run.stderr
    assert held(switch) == before


def test_a_group_that_the_operator_uses_is_not_taken_away(switch: OpenVSwitch, folder: Path) -> None:
    plan = written(folder, group(1))
    verb("apply", plan, switch)
    ofctl(switch, "add-flow", f"table=0,priority=9,tcp,actions=group:{0xAB010000}")
    before = held(switch)
    run = verb("remove", plan, switch, status=2)
    assert "group 0xab010000: in use by somebody else's rule table=0 priority=9" in run.stderr
    assert held(switch) == before


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("add-flow", "table=3,tcp,actions=write_actions(group:{group})"),
        ("add-flow", "table=3,tcp,actions=output:2,write_actions(set_field:5->ip_dscp,group:{group}),goto_table:9"),
        ("add-flow", "table=3,tcp,actions=clone(group:{group})"),
        ("add-flow", "table=3,tcp,actions=clone(dec_ttl,clone(group:{group}),output:2),output:3"),
        ("add-group", "group_id=8,type=all,bucket=group:{group}"),
        ("add-group", "group_id=8,type=indirect,bucket=clone(group:{group})"),
        ("add-group", "group_id=8,type=ff,bucket=watch_group:{group},output:2"),
    ],
)
def test_a_group_is_in_use_wherever_somebody_refers_to_it(
    switch: OpenVSwitch, folder: Path, command: str, text: str
) -> None:
    plan = written(folder, group(1))
    verb("apply", plan, switch)
    ofctl(switch, command, text.format(group=0xAB010000))
    before = held(switch)
    run = verb("remove", plan, switch, status=2)
    what = "rule table=3 priority=32768" if command == "add-flow" else "group 0x8"
    assert f"group 0xab010000: in use by somebody else's {what}" in run.stderr
    if text.endswith("=write_actions(group:{group})"):
        assert "tcp -> write_actions(group 0xab010000); take that away first" in run.stderr.replace(
            "ip,ip_proto=6", "tcp"
        )
    assert held(switch) == before
    # Once the operator has taken his away, ours goes.
    gone = ("del-flows", "table=3") if command == "add-flow" else ("del-groups", "group_id=8")
    ofctl(switch, *gone)
    verb("remove", plan, switch)


@pytest.mark.parametrize(
    ("command", "text", "what", "gone"),
    [
        ("add-flow", "table=3,tcp,actions=meter:{meter},output:2", "rule table=3 priority=32768", "del-flows table=3"),
        ("add-group", "group_id=8,type=all,bucket=meter:{meter},output:2", "group 0x8", "del-groups group_id=8"),
    ],
)
def test_a_meter_that_the_operator_uses_is_not_taken_away(
    switch: OpenVSwitch, folder: Path, command: str, text: str, what: str, gone: str
) -> None:
    plan = written(folder, group(1))
    verb("apply", plan, switch)
    meter = METER + 256
    ofctl(switch, "add-meter", f"meter={meter},kbps,band=type=drop,rate=100")
    ofctl(switch, command, text.format(meter=meter))
    before = held(switch)
    run = verb("remove", plan, switch, status=2)
    assert f"meter {meter}: in use by somebody else's {what}" in run.stderr
    assert held(switch) == before
    ofctl(switch, *gone.split())
    verb("remove", plan, switch)
    assert f"meter={meter}" not in ofctl(switch, "dump-meters")


def test_rules_that_come_first_are_told(switch: OpenVSwitch, folder: Path) -> None:
    run = verb("apply", written(folder, group(1)), switch)
    assert (
        "group leaf1: somebody else's rule table=0 priority=5000 in_port=p2,arp -> group 0x7 takes packets"
        in run.stdout
    )


def test_an_error_that_the_plan_allows_is_enforced(switch: OpenVSwitch, folder: Path) -> None:
    before = held(switch)
    plan = written(folder, group(1, recipe="hash") + 'error = "20%"\n')
    for name in ("apply", "diff", "verify", "explain"):
        if name == "explain":
            run = anabranch(name, "10.0.9.1,10.0.1.1,tcp,1,2", "--plan", str(plan))
        else:
            run = verb(name, plan, switch, status=2)
        assert run.returncode == 2
        assert f"{plan}: group leaf1: error: 20%: hash is 27.4 % off these weights (MAPE); " in run.stderr
        assert "`anabranch plan --target ovs --weights 4,3,2` says what is nearer" in run.stderr
    assert held(switch) == before
    verb("remove", plan, switch)
    verb("apply", written(folder, group(1, recipe="hash") + 'error = "28%"\n'), switch)
    # What no recipe can do is refused under `auto` too.
    wide = group(1, "[1e9, 1, 1]", "auto")
    verb("apply", written(folder, wide), switch)
    run = verb("apply", written(folder, wide + 'error = "1%"\n'), switch, status=2)
    assert "group leaf1: error: 1%: " in run.stderr


def test_raw_weights_are_told_what_they_make(switch: OpenVSwitch, folder: Path) -> None:
    run = verb("apply", written(folder, group(1, recipe="hash")), switch)
    assert "hash makes 56.9, 31.9, 11.1 % of these weights, 27.4 % off" in run.stdout.replace("\n", " ")


def test_owners_live_side_by_side(switch: OpenVSwitch, folder: Path) -> None:
    before = held(switch)
    first = written(folder, group(1, recipe="multipath"))
    second = written(folder, group(2, recipe="multipath"), group(3), owner=2)
    verb("apply", first, switch)
    alone = held(switch)
    verb("apply", second, switch)
    for plan in (first, second):
        assert "nothing to do" in verb("diff", plan, switch).stdout
    verb("remove", second, switch)
    assert held(switch) == alone
    verb("remove", first, switch)
    assert held(switch) == before


def test_a_restarted_switch_is_healed(switch: OpenVSwitch, folder: Path) -> None:
    plan = written(folder, group(1), group(2, recipe="multipath"))
    verb("apply", plan, switch)
    ours = [line for line in held(switch) if "0xab5a" in line or f"group_id={0xAB01}" in line]
    switch.kill(SWITCH)
    gone = anabranch("diff", str(plan), "--openflow", switch.openflow(BRIDGE))
    assert gone.returncode == 2
    assert "is it running?" in gone.stderr
    switch.start_switch()
    verb("diff", plan, switch, status=1)
    verb("apply", plan, switch)
    now = held(switch)
    assert set(ours) <= set(now)
    assert "nothing to do" in verb("diff", plan, switch).stdout


CHILD = """
import sys
from anabranch.deploy.targets.ovs import target as ovs
from anabranch.deploy.targets import verbs
from anabranch.deploy.targets.ovs.options import Options
print("ready", flush=True)
sys.stdin.readline()
verbs.apply(ovs.TARGET, sys.argv[1], Options(openflow=sys.argv[2]), dry_run=False)
"""


def test_a_client_killed_in_the_middle_leaves_all_or_nothing(switch: OpenVSwitch, folder: Path) -> None:
    nothing = held(switch)
    large = group(2, "[5, 4, 3]", "multipath") + "slots = 8192\n"
    plan = written(folder, group(1), large)
    everything = 5 + 8192 + 4
    for delay_s in (0.05, 0.25, 0.6):
        command = [sys.executable, "-c", CHILD, str(plan), switch.openflow(BRIDGE)]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with child:
            assert child.stdin is not None
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            child.stdin.write("\n")
            child.stdin.flush()
            time.sleep(delay_s)
            child.kill()
        now = len(held_at_rest(switch)) - len(nothing)
        assert now in (0, everything)
        if now:
            break
    verb("apply", plan, switch)
    assert len(held(switch)) - len(nothing) == everything
    verb("remove", plan, switch)
    assert held(switch) == nothing


@contextmanager
def sending(switch: OpenVSwitch, source_ports: Iterable[int]) -> Iterator[None]:
    """Packets all the while, into p4."""
    ended = Event()

    def send() -> None:
        packets = map(packet, cycle(source_ports))
        while not ended.wait(0.02):
            switch.appctl("netdev-dummy/receive", "p4", *islice(packets, 100))

    thread = Thread(target=send, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def packet(source_port: int) -> str:
    return (
        "in_port(4),eth(src=02:00:00:00:00:04,dst=02:00:00:00:00:01),eth_type(0x0800),"
        f"ipv4(src=10.0.9.9,dst=10.0.1.5,proto=6,tos=0,ttl=64,frag=no),tcp(src={source_port},dst=80)"
    )


@pytest.mark.parametrize("recipe", ["hash-gravity", "multipath"])
def test_the_split_is_measured(switch: OpenVSwitch, folder: Path, recipe: str) -> None:
    plan = written(folder, group(1, recipe=recipe))
    verb("apply", plan, switch)
    # A connection is a packet here, so that as many passed as packets.
    with sending(switch, range(1, 65536)):
        verify = ("verify", str(plan), "--openflow", switch.openflow(BRIDGE), "--seconds", "4")
        run = as_planned(lambda _: anabranch(*verify, "--connections", "1000000"))
    assert re.search(r"as planned: chance alone puts [\d,]+ connections as far off in", run.stdout)
    got = [float(line.split()[3]) for line in run.stdout.splitlines() if re.match(r"p\d ", line)]
    assert got == pytest.approx([44.4, 33.3, 22.2], abs=10)


def test_one_connection_is_no_split(switch: OpenVSwitch, folder: Path) -> None:
    plan = written(folder, group(1))
    verb("apply", plan, switch)
    with sending(switch, [1000]):
        known = verb("verify", plan, switch, "--seconds", "3", "--connections", "1000000", status=1)
        unknown = verb("verify", plan, switch, "--seconds", "3", status=3)
    assert re.search(r"wrong: chance alone puts [\d,]+ connections as far off in", known.stdout)
    assert re.search(r"cannot tell: chance explains it if no more than \d connections", unknown.stdout)


def test_a_bridge_that_differs_is_not_measured(switch: OpenVSwitch, folder: Path) -> None:
    plan = written(folder, group(1))
    run = verb("verify", plan, switch, "--seconds", "60", status=1)
    assert "the switch does not hold the plan" in run.stdout
    verb("apply", plan, switch)
    run = verb("verify", plan, switch, "--seconds", "0.1", status=3)
    assert "cannot tell: no packet came" in run.stdout


def test_a_port_that_is_gone_is_left_out_and_comes_back(switch: OpenVSwitch, folder: Path) -> None:
    failover = group(2, recipe="failover").replace("weights = [4, 3, 2]\n", "")
    groups = (group(1), failover, group(3, recipe="multipath", weights="[1, 1, 1]"))
    plan = written(folder, *groups)
    verb("apply", plan, switch)
    number = switch.vsctl("get", "interface", "p2", "ofport").strip()
    before = held(switch)
    switch.vsctl("del-port", BRIDGE, "p2")
    try:
        note = r"left out p2: no port of the bridge; [^;]+; once it is there, anabranch apply brings it back"
        changed = verb("diff", plan, switch, status=1).stdout
        for leaf in (1, 2, 3):
            assert re.search(f"^note: group leaf{leaf}: {note}$", changed, re.MULTILINE)
        assert "the switch does not hold the plan" in verb("verify", plan, switch, status=1).stdout
        verb("apply", plan, switch)
        assert "nothing to do" in verb("diff", plan, switch).stdout
        with sending(switch, range(1, 65536)):
            verify = ("verify", str(plan), "--openflow", switch.openflow(BRIDGE), "--seconds", "3")
            shown = anabranch(*verify, "--connections", "1000000").stdout
        rows = [line.split() for line in shown.splitlines() if line.startswith("p2 ")]
        assert [(row[1:5], row[-1]) for row in rows] == [(["0.00", "0.00", row[3], "0"], "down") for row in rows]
        assert len(rows) == 3
        lost = written(folder, group(1).replace('["p1", "p2", "p3"]', '["p8", "p9"]').replace("[4, 3, 2]", "[1, 1]"))
        refused = verb("diff", lost, switch, status=2).stderr
        assert "group leaf1: ports: p8, p9: no port of the bridge; " in refused
        written(folder, *groups)
    finally:
        switch.vsctl("add-port", BRIDGE, "p2", "--", "set", "interface", "p2", "type=dummy", f"ofport_request={number}")
    assert verb("apply", plan, switch).stdout.count("left out") == 0
    assert [line for line in held(switch) if "group_id" in line] == [line for line in before if "group_id" in line]


def test_the_database_says_where_the_bridge_is(switch: OpenVSwitch, folder: Path) -> None:
    plan = written(folder, group(1))
    ovsdb = ("--ovsdb", switch.database)
    assert anabranch("apply", str(plan), *ovsdb).returncode == 0
    run = anabranch("diff", str(plan), *ovsdb, "--bridge", "br7")
    assert "bridge: br7: not in" in run.stderr
    assert "there are: br0" in run.stderr
    switch.vsctl("set", "bridge", BRIDGE, "protocols=OpenFlow10,OpenFlow13")
    try:
        run = anabranch("diff", str(plan), *ovsdb)
        assert (run.returncode, "ovs-vsctl add bridge br0 protocols OpenFlow15" in run.stderr) == (2, True)
        run = anabranch("diff", str(plan), "--openflow", switch.openflow(BRIDGE))
        assert (run.returncode, "protocols OpenFlow15" in run.stderr) == (2, True), run.stderr
    finally:
        switch.vsctl("clear", "bridge", BRIDGE, "protocols")


def test_a_remote_bridge_is_found_by_its_database(switch: OpenVSwitch, folder: Path) -> None:
    plan = written(folder, group(1))
    with reserved_port() as database, reserved_port() as openflow, reached_at(switch, database):
        remote = ("--ovsdb", f"tcp:127.0.0.1:{database}")
        run = anabranch("apply", str(plan), *remote)
        assert "it lets no controller in; ovs-vsctl set-controller br0 ptcp:6653" in run.stderr
        switch.vsctl("set-controller", BRIDGE, f"ptcp:{openflow}:127.0.0.1")
        deadline = time.monotonic() + PATIENCE_S
        run = anabranch("apply", str(plan), *remote)
        while run.returncode and time.monotonic() < deadline:
            time.sleep(0.05)
            run = anabranch("apply", str(plan), *remote)
        assert run.returncode == 0, run.stderr
        assert "nothing to do" in verb("diff", plan, switch).stdout


@contextmanager
def reached_at(switch: OpenVSwitch, database: int) -> Iterator[None]:
    """Its database, by TCP."""
    switch.appctl("ovsdb-server/add-remote", f"ptcp:{database}:127.0.0.1", daemon="ovsdb-server")
    try:
        yield
    finally:
        switch.vsctl("del-controller", BRIDGE)
        switch.appctl("ovsdb-server/remove-remote", f"ptcp:{database}:127.0.0.1", daemon="ovsdb-server")


@pytest.fixture
def port() -> Iterator[int]:
    with reserved_port() as reserved:
        yield reserved


def test_a_remote_bridge_speaks_tls(switch: OpenVSwitch, folder: Path, port: int) -> None:
    certificates = make_certificates(folder)
    files = certificates["switch"]
    switch.vsctl("set-ssl", str(files.key), str(files.certificate), str(files.authority))
    switch.vsctl("set-controller", BRIDGE, f"pssl:{port}:127.0.0.1")
    plan = written(folder, group(1))
    try:
        for who, status in (("controller", 0), ("stranger", 2)):
            ours = certificates[who]
            options = [f"--{name}={file}" for name, file in vars(ours).items()]
            address = ("--openflow", f"ssl:127.0.0.1:{port}")
            deadline = time.monotonic() + PATIENCE_S
            run = anabranch("apply", str(plan), *address, *options)
            while run.returncode != status and time.monotonic() < deadline:
                time.sleep(0.05)
                run = anabranch("apply", str(plan), *address, *options)
            assert run.returncode == status, run.stderr
        assert "nothing to do" in verb("diff", plan, switch).stdout
    finally:
        switch.vsctl("del-controller", BRIDGE)
        switch.vsctl("del-ssl")


def test_ssl_asks_for_all_three_files(folder: Path) -> None:
    plan = written(folder, group(1))
    run = anabranch("diff", str(plan), "--openflow", "ssl:127.0.0.1:6653", "--key", "key.pem")
    assert "certificate: missing; ssl takes --key, --certificate and --authority together" in run.stderr
