"""Keys of `[[group]]` that the plans of all targets have in common."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn, Protocol, TypeVar

from anabranch.deploy.targets.plan.bound import BOUND_PCT, parse_bound
from anabranch.deploy.targets.plan.group import group
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import REQUIRED, TABLES, Settings, whole
from anabranch.split.request import weights_of

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
NAME = "The group's name, its identity in the switch: groups may change places in the file."


class Named(Protocol):
    """A group as a plan's reader makes it."""

    @property
    def name(self) -> str:
        """The only one of its name in the plan."""
        ...


class Bounded(Named, Protocol):
    """A group whose split may be so far off its weights."""

    @property
    def weights(self) -> tuple[str, ...]:
        """Weight of each path, as in the file."""
        ...

    @property
    def error_pct(self) -> float:
        """Largest error of the split (MAPE)."""
        ...

    @property
    def error_given(self) -> bool:
        """Whether the plan says it: a larger error is refused then, and warned of otherwise."""
        ...


Group = TypeVar("Group", bound=Named)


def groups_of(settings: Settings, read: Callable[[Settings], Group], most: int | None = None) -> tuple[Group, ...]:
    """Every `[[group]]` as `read` makes it of its table. It is the last key of a plan: what is left then is unknown.

    Args:
        settings: of the file.
        read: makes a group of its table.
        most: groups of a plan that the target has room for.

    Raises:
        AnabranchError: there is none, there are too many, two have one name, or what `read` raises.

    """
    given: list[Any] = settings.take(
        "group",
        [],
        lambda item: item if isinstance(item, list) else None,
        "write each as [[group]]",
        "A table for each group of paths.",
        otherwise=REQUIRED,
        values=f"{TABLES}, each as [[group]]",
    )
    settings.end()
    file = settings.file
    if not given:
        raise AnabranchError(f"{file}: group: missing; write one as [[group]] with name, match, ports and weights")
    if most is not None and len(given) > most:
        raise AnabranchError(f"{file}: group: {len(given):,} of them: a plan has at most {most:,} here; write several")
    groups: dict[str, Group] = {}
    for number, item in enumerate(given, 1):
        called = item.get("name") if isinstance(item, Mapping) else None
        path = f"group {called if isinstance(called, str) and called else number}"
        group = read(Settings(file, path, item, "group"))
        if group.name in groups:
            raise AnabranchError(f"{file}: group {group.name}: name: there twice; each group has its own")
        groups[group.name] = group
    return tuple(groups.values())


def refuse_rivals(file: str, taken: Iterable[tuple[str, Network, Hashable]], hint: str) -> None:
    """Raises an AnabranchError if two groups, by name, take one destination at one position of the target."""
    owners: dict[tuple[Network, Hashable], str] = {}
    for name, prefix, position in taken:
        owner = owners.setdefault((prefix, position), name)
        if owner != name:
            raise AnabranchError(f"{file}: group {name}: match.ip_dst: {prefix}: group {owner} has it too; {hint}")


def refuse_missing(settings: Settings, key: str, hint: str) -> NoReturn:
    """Says that a key has to be there."""
    raise AnabranchError(f"{settings.file}: {settings.path}: {key}: missing; {hint}")


def refuse_twice(settings: Settings, key: str, values: Sequence[object]) -> None:
    """Raises an AnabranchError if two paths of a group are one."""
    if len(set(values)) < len(values):
        settings.refuse(key, list(values), "one is there twice; name it once and add its weights up")


def name_of(settings: Settings, meaning: str = NAME, values: str = "text") -> str:
    """`name`, which every group has."""
    return settings.text("name", "", meaning, otherwise=REQUIRED, values=values) or refuse_missing(
        settings, "name", 'give one, as in name = "to-leaf2"'
    )


def devices(settings: Settings, meaning: str, otherwise: str = REQUIRED, *, needed: bool = True) -> tuple[str, ...]:
    """`ports` of a Linux target: the network device of each path."""
    names = tuple(settings.texts("ports", meaning, values="names of devices", otherwise=otherwise))
    if needed and not names:
        refuse_missing(settings, "ports", 'give the device of each path, as in ports = ["eth1", "eth2"]')
    return names


def weights(settings: Settings, paths: int) -> tuple[str, ...]:
    """`weights`, one per path; all alike where there are none."""

    def check(given: object) -> tuple[str, ...] | None:
        texts = weights_of(given, f"{settings.file}: {settings.path}: ") if isinstance(given, list) else ()
        return texts if len(texts) == paths else None

    weights = settings.take(
        "weights",
        ("1",) * paths,
        check,
        f"give one per path, {paths} of them, as in [4, 3, 2]",
        "The split that is desired, never gravity weights. 0 carries nothing.",
        otherwise="all equal",
        values="numbers, one per path",
    )
    try:
        group(weights)
    except AnabranchError as error:
        raise AnabranchError(f"{settings.file}: {settings.path}: {error}") from None
    return weights


def seed(
    settings: Settings,
    default: int | None,
    most: int,
    meaning: str = "Seed of this group alone.",
    otherwise: str = "`seed`",
) -> int | None:
    """`seed` of the target's hash; None if nobody gave one."""
    hint = f"give a whole number from 0 to {most}, another on each switch"
    return settings.take("seed", default, lambda given: whole(given, 0, most), hint, meaning, otherwise=otherwise)


def error_pct(settings: Settings, kept_by: str) -> float:
    """`error`: how far off its weights a split may be; `kept_by` says which recipes stay below it."""

    def check(given: object) -> float | None:
        try:
            return parse_bound(given) if isinstance(given, str) else None
        except AnabranchError:
            return None

    meaning = (
        "In the plan it is a bound: a split further off, all paths being up, is refused with status 2. "
        f"{kept_by} Left out, a split more than {BOUND_PCT:g} % off its weights is warned of."
    )
    return settings.take("error", BOUND_PCT, check, 'give a percentage above 0, such as "1%"', meaning)


def refuse_error(file: str, target: str, group: Bounded, recipe: str, error_pct: float) -> None:
    """Raises an AnabranchError if a group's split is further off its weights than the plan says it may be.

    Args:
        file: of the plan.
        target: as `anabranch plan` calls it.
        group: whose bound.
        recipe: that splits.
        error_pct: of its split, all paths being up (MAPE).

    """
    if group.error_given and error_pct > group.error_pct:
        nearer = f"`anabranch plan --target {target} --weights {','.join(group.weights)}` says what is nearer"
        raise AnabranchError(
            f"{file}: group {group.name}: error: {group.error_pct:g}%: {recipe} is {error_pct:.3g} % off these weights "
            f"(MAPE); {nearer}; take that, or allow a larger error"
        )


def prefixes(settings: Settings, key: str, meaning: str, otherwise: str) -> tuple[Network, ...]:
    """Networks under a key of `match`."""
    texts = settings.texts(key, meaning, values="prefixes, as in `10.0.2.0/24`", otherwise=otherwise)
    return tuple(_prefix(settings, key, text) for text in texts)


def destinations(settings: Settings, hint: str, meaning: str, otherwise: str = "all IP") -> tuple[Network, ...]:
    """`match.ip_dst`, each once, where a target matches nothing else; `hint` is for whoever gives more."""
    networks = prefixes(settings, "ip_dst", meaning, otherwise)
    if others := settings.keys():
        settings.refuse(others[0], "given", hint)
    if len(set(networks)) < len(networks):
        settings.refuse("ip_dst", ", ".join(map(str, networks)), "one is there twice; leave it out")
    return networks


def _prefix(settings: Settings, key: str, text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        hint = "write 10.0.2.0/24 or fd00:2::/64"
        with suppress(ValueError):
            one = ipaddress.ip_interface(text)
            hint = f"for the network write {one.network}, for the address {one.ip}"
        settings.refuse(key, text, f"{error}; {hint}")
