"""Datapaths of a Linux kernel (`anabranch apply --target ebpf`): the schemes' own code, so the shares are their own."""

from __future__ import annotations

from anabranch import _core
from anabranch.deploy.targets.ebpf.headers import is_no_ip, is_portless
from anabranch.deploy.targets.plan.group import Group, short
from anabranch.deploy.targets.plan.recipe import Forecast, Reading, Recipe, recipe
from anabranch.files.errors import AnabranchError
from anabranch.split.stats.mape import mape

WEIGHT_MAX = 2**32 - 1
MEMBERS_MAX = 64
TURNS_MAX = 1024
LARGE = "slots_large"
RECIPES = (
    # Columns: name in plan files, program of the kernel, used and available units, reason to choose it.
    ("weighted", "slots", (4096, 65536, "slots"), "a table: quickest, and a change moves the fewest connections"),
    ("weighted", LARGE, (65536, 65536, "slots"), "a finer table, over the first-level cache"),
    ("log-rendezvous", "rendezvous", (0, MEMBERS_MAX, "members"), "exact shares without a table or a history"),
    ("valo", "score", (0, MEMBERS_MAX, "members"), "the asked shares to 31 bits; one multiplication per path"),
    ("weighted-spray", "cycle", (0, TURNS_MAX, "turns"), "packets in turn: exact shares by packet, and reordering"),
)
"""Recipes of the target; where 0 are used, as many as there are paths that carry something, or turns."""
READING = Reading(
    is_no_ip,
    "MPLS, behind whose labels a program sees no IP, so that they pass as if it were not there",
    is_portless,
    "fragments, or authentication headers of IPv4, hashed without ports",
    "a plan's hash has its own seed; `anabranch explain --plan` says which way a connection goes",
)


def forecast(group: Group, strict: bool) -> Forecast:
    """All recipes; with `strict`, what no program takes is an error instead of a refusal.

    Raises:
        AnabranchError: too many paths or too large a weight, if `strict`.

    """
    title = "Linux kernel, eBPF datapath"
    recipes: list[Recipe] = []
    refused: list[tuple[str, str]] = []
    for scheme, program, size, gain in RECIPES:
        try:
            recipe = installed(group, scheme, program, size, gain)
        except AnabranchError as error:
            if strict:
                raise
            refused.append((scheme, str(error)))
            continue
        # More slots than the weights need change nothing.
        if program != LARGE or recipe.achieved != recipes[-1].achieved:
            recipes.append(recipe)
    traps = [
        "up to 64 KB that TCP hands over whole are one decision; gso_max_segs 1 at the sender makes it many",
        "a dead path loses what goes there until apply --follow, or the controller, has masked it",
        "another seed on each switch: with the same one the next stage sends all it gets one way",
    ]
    return Forecast("ebpf", title, recipes, refused, traps, READING)


def installed(group: Group, scheme: str, program: str, size: tuple[int, int | None, str], gain: str) -> Recipe:
    """One scheme: its shares, as its plan gives them.

    Raises:
        AnabranchError: too many paths, or too large a weight.

    """
    if len(group.weights) > MEMBERS_MAX:
        raise AnabranchError(f"weights: {len(group.weights)} paths: the kernel's programs take {MEMBERS_MAX}")
    weights = group.integers
    if max(weights) > WEIGHT_MAX:
        raise AnabranchError(f"weights: {max(weights)}: over the {WEIGHT_MAX} of 32 bits; divide them all")
    whole = _shares(program, weights, [True] * len(weights))
    living = [share if up else 0.0 for share, up in zip(whole, group.up, strict=True)]
    replanned = _shares(program, weights, list(group.up)) if group.degraded else living
    used, limit, unit = size
    if not used:
        used = sum(weight > 0 for weight in weights)
        if unit == "turns":
            used = len(_turns(weights))
    return recipe(
        group,
        scheme if program != LARGE else f"{scheme}-65536",
        f"weights {short(weights)}",
        (living, replanned),
        (used, limit, unit),
        gain,
        ["Linux 6.6 or newer", "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON"],
        _lines(group, scheme, weights, _finer(weights, whole) if program == LARGE else ""),
        per_packet=unit == "turns",
    )


def _group(weights: list[int], up: list[bool]) -> _core.KernelGroup:
    return _core.KernelGroup("all", [], list(range(1, len(weights) + 1)), weights, up, "redirect")


def _shares(program: str, weights: list[int], up: list[bool]) -> list[float]:
    return _core.kernel_shares(program, _group(weights, up))


def _turns(weights: list[int]) -> list[int]:
    return _core.kernel_turns(_group(weights, [True] * len(weights)))


def _finer(weights: list[int], shares: list[float]) -> str:
    """An error that only the finer table stays below, as a plan has it."""
    asked = [weight / sum(weights) for weight in weights]
    return f"{max(1.1 * mape(asked, shares), 1e-6):.3g}%"


def _lines(group: Group, scheme: str, weights: list[int], error: str) -> list[str]:
    """Shell commands that write a plan and apply it."""
    ports = ", ".join(f'"{group.port(path, "eth")}"' for path in range(len(weights)))
    listed = ", ".join(map(str, weights))
    return [
        "cat >plan.toml <<'END'",
        f'scheme = "{scheme}"',
        "[[group]]",
        'name = "all"',
        "match = {}",
        f"ports = [{ports}]",
        f"weights = [{listed}]",
        *([f'error = "{error}"'] if error else []),
        "END",
        "anabranch apply plan.toml --target ebpf --dev eth0",
    ]
