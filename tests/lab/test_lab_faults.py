"""The controller, ovs-vswitchd and ovsdb-server of a lab killed among changes: rules afterwards, and packets."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anabranch.deploy.targets.ovs.daemons import DATABASE, SWITCH
from anabranch.lab.fabric import controller
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.switches.ovs.switching import open_vswitch
from support.held_tables import answer, assert_same, empty, held, operate
from support.lab_fixture import lab_of, reaches
from support.waiting import DEADLINE_S, wait

FABRIC = 'kind = "leaf-spine"\nleaves = 2\nspines = 3\nhosts_per_leaf = 1\nlink = { rate = "100 Mbps" }'
CONTROLLER = "controller"
VICTIMS = ((CONTROLLER,), (SWITCH,), (DATABASE,), (CONTROLLER, SWITCH), (CONTROLLER,), (SWITCH, DATABASE))
QUIET_S = 0.2


@dataclass
class Changing:
    """A lab whose links come, go and change their rates."""

    lab: Lab
    source: random.Random
    up: dict[tuple[str, str], bool] = field(default_factory=dict)
    rate_bps: dict[tuple[str, str], int] = field(default_factory=dict)

    def change(self, rates: bool = True) -> None:
        """Changes one link; those of spine0 stay up."""
        link = f"leaf{self.source.randrange(2)}", f"spine{self.source.randrange(1, 3)}"
        if rates and self.source.random() < 0.5:
            self.rate_bps[link] = self.source.choice((10, 50, 100)) * 10**6
            self.lab.set_link(*link, rate_bps=self.rate_bps[link])
        else:
            self.up[link] = self.source.random() < 0.5
            self.lab.set_link(*link, up=self.up[link])

    def rest(self) -> None:
        """Waits until the controller knows all links as they are, and the switches hold what follows."""
        wait(self._rests, lambda: (self.lab.folder / controller.LOG).read_text()[-3000:])

    def _rests(self) -> bool:
        if not self._known():
            return False
        time.sleep(QUIET_S)
        return self._known()

    def _known(self) -> bool:
        found = status(self.lab)
        for link in found["links"] if found else ():
            ends = link["a"], link["b"]
            if ends[1].startswith("spine"):
                wanted = self.up.get(ends, True), self.rate_bps.get(ends, 10**8)
                if (link["up"], link["rate_bps"]) != wanted:
                    return False
        return bool(found and found["converged"])


def status(lab: Lab) -> dict[str, Any] | None:
    """The controller's state, if it answers."""
    connection = http.client.HTTPConnection(lab.record.http, timeout=DEADLINE_S)
    try:
        connection.request("GET", "/status.json")
        found: dict[str, Any] = json.loads(connection.getresponse().read())
        return found
    except OSError:
        return None
    finally:
        connection.close()


def kill(lab: Lab, victim: str) -> None:
    if victim != CONTROLLER:
        open_vswitch(lab).kill(victim)
        return
    for pid in controller.running(lab):
        os.kill(pid, signal.SIGKILL)
    wait(lambda: not controller.running(lab), lambda: "it does not end")


def test_any_of_the_three_may_be_killed_among_changes(tmp_path: Path) -> None:
    with lab_of(tmp_path, FABRIC) as lab:
        text = lab.fabric_file.read_text()
        lab.fabric_file.write_text(text + "\n[damping]\nuse = false\n")
        ovs, bridges = open_vswitch(lab), lab.switches
        operate(ovs, bridges)
        controller.start(lab)
        changing = Changing(lab, random.Random(5))
        for victims in VICTIMS:
            changing.change()
            changing.change()
            time.sleep(changing.source.random() * 0.03)
            for victim in victims:
                kill(lab, victim)
            changing.change(rates=False)
            lab.start_switch()
            if SWITCH in victims:
                wait(lambda: answer(ovs, bridges), lambda: "no bridge answers")
                operate(ovs, bridges)
            controller.start(lab)
        changing.rest()
        found = held(ovs, bridges)
        assert reaches(lab, "host0", "host1")
        kill(lab, CONTROLLER)
        empty(ovs, bridges)
        assert not reaches(lab, "host0", "host1", timeout_s=0.5)
        controller.start(lab)
        changing.rest()
        assert_same(found, held(ovs, bridges))
        assert reaches(lab, "host0", "host1")
