"""Changes as `apply` and `diff` print them."""

from __future__ import annotations

from io import StringIO

from anabranch.deploy.targets.plan.show import show
from anabranch.deploy.targets.verbs import Outcome
from anabranch.files.terminal.console import SafeConsole

LINES = ["+ group 1", "~- group 2 of one\x1b[2K name", f"~+ group 2 {'port ' * 20}", "- rule", "no sign"]


def shown(*, colours: bool) -> list[str]:
    """The lines on a narrow terminal."""
    out = StringIO()
    system = "standard" if colours else None
    console = SafeConsole(file=out, force_terminal=colours, color_system=system, width=30, highlight=False)
    show(Outcome(LINES, 4, [], "all"), dry_run=True, console=console)
    return out.getvalue().splitlines()


def test_each_change_has_a_line_of_its_own_whatever_the_width() -> None:
    assert shown(colours=False)[: len(LINES)] == [line.replace("\x1b", r"\x1b") for line in LINES]


def test_what_comes_is_green_and_what_goes_is_red() -> None:
    assert [line[:5] for line in shown(colours=True)[: len(LINES)]] == [
        "\x1b[32m",
        "\x1b[31m",
        "\x1b[32m",
        "\x1b[31m",
        "no si",
    ]
