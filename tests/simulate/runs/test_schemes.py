"""`anabranch schemes`: the list, the pages, and that they are complete."""

from __future__ import annotations

import pytest

import anabranch as ab
from support.command import anabranch

# Some follow a paper, others a specification or several publications.
SECTIONS = ("## Rule", "## Differs from the ", "## Limits", "## Source")


@pytest.mark.parametrize("balancer", ab.schemes(), ids=lambda balancer: balancer.name)
def test_every_load_balancer_has_a_page(balancer: ab.LoadBalancer) -> None:
    assert balancer.page.startswith("# ")
    assert 2 < len(balancer.published) < 16
    assert 20 < len(balancer.summary) < 200, balancer.summary
    places = [balancer.page.find(section) for section in SECTIONS]
    assert -1 not in places
    assert places == sorted(places)
    assert balancer.source
    assert all(parameter.default and parameter.meaning for parameter in balancer.parameters)


def test_the_list_names_every_load_balancer_and_every_technique() -> None:
    shown = anabranch("schemes").stdout
    for name in [balancer.name for balancer in ab.schemes()] + [t.name for t in ab.techniques()]:
        assert f"\n{name} " in shown, name


def test_a_page_has_its_parameters() -> None:
    shown = anabranch("schemes", "show", "drill").stdout
    assert "samples" in shown
    assert "SIGCOMM 2017" in shown


def test_an_unknown_name_gets_the_nearest() -> None:
    done = anabranch("schemes", "show", "dril")
    assert done.returncode == 2
    assert "scheme: dril: unknown; did you mean drill?" in done.stderr
