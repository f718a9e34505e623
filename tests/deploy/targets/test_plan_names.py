"""Names with control characters: refused in plans, shown as escapes where they come from a switch."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from anabranch import AnabranchError
from anabranch.deploy.targets.following import report
from anabranch.deploy.targets.plan.show import show, show_verified
from anabranch.deploy.targets.plan.verification import Measured, Verified
from anabranch.deploy.targets.registry import plan_forms
from anabranch.deploy.targets.verbs import Outcome
from anabranch.files.terminal.console import SafeConsole

FORGED = ("a\n+ group b", "a\x1b[2K", "a\rb", "a\tb", "a\u202eb", "a\x85b")
GROUP = """[[group]]
name = {name}
match = {{ ip_dst = ["10.0.2.0/24"] }}
ports = ["e1", {port}]
"""


def screen() -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    return SafeConsole(file=text, width=120), text


@pytest.mark.parametrize("target", plan_forms())
@pytest.mark.parametrize("name", FORGED)
@pytest.mark.parametrize("where", ["name", "port"])
def test_no_name_of_a_plan_has_control_characters(target: str, name: str, where: str) -> None:
    texts = {"name": json.dumps("a"), "port": json.dumps("e2")} | {where: json.dumps(name)}
    with pytest.raises(AnabranchError) as refused:
        plan_forms()[target].parse(GROUP.format(**texts), "plan.toml")
    message = str(refused.value)
    assert message.startswith(f"plan.toml: group 1.{where.replace('port', 'ports')}: a\\")
    assert message.endswith(": a control character; take it out")
    assert message.isprintable()


@pytest.mark.parametrize("name", FORGED)
def test_no_key_of_a_plan_has_control_characters(name: str) -> None:
    with pytest.raises(AnabranchError) as refused:
        plan_forms()["ovs"].parse(f"{json.dumps(name)} = 1\n" + GROUP.format(name='"a"', port='"e2"'), "plan.toml")
    assert str(refused.value).endswith(": a control character; take it out")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("name", FORGED)
def test_what_a_switch_calls_its_ports_begins_no_line(name: str) -> None:
    console, text = screen()
    show(Outcome([f"+ group 0xab000000: 0:{name}"], 1, [f"down: {name}"], "1 group"), True, console)
    report([f"{name} gone"], [f"- {name}"], console)
    measured = Measured(name, "hash", ("p1", name), (True, True), (0.5, 0.5), (0.5, 0.5), (50, 50), 1.0, 100)
    lines = text.getvalue().splitlines()
    assert [line[:1] for line in lines[:3]] == ["+", "n", "1"]
    assert len(lines) == 5
    show_verified(Verified([], [], [measured], 1.0), console)
    assert all(character.isprintable() or character == "\n" for character in text.getvalue())
    assert not [line for line in text.getvalue().splitlines()[5:] if line.startswith("+")]
