"""Request of the user, from the command line and from a TOML file, checked before anything is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import choose, nearest
from anabranch.files.toml_document import parse_toml
from anabranch.split.change import Change, split_list
from anabranch.split.splitter import Hash, Splitter, hashes, techniques, weight_texts
from anabranch.split.trace import DIRECTIONS, ENCAPSULATIONS, SEED_MAX

KEYS = (
    "trace",
    "generate",
    "weights",
    "technique",
    "change",
    "fail",
    "drain",
    "slow-start",
    "add",
    "bounded-load",
    "hash",
    "seed",
    "direction",
    "encap",
)


@dataclass(frozen=True)
class Choice:
    """A technique with parameters, as in `maglev:size=65537`."""

    name: str
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        """Text of the choice, as the user writes it."""
        return ":".join([self.name, *(f"{key}={value}" for key, value in self.parameters)])

    def splitter(self, weights: tuple[str, ...]) -> Splitter:
        """Plans a group of these weights by the technique.

        Raises:
            AnabranchError: weights beyond the technique's limits, or a wrong parameter.

        """
        return Splitter(self.name, weights, None, **dict(self.parameters))


@dataclass(frozen=True)
class Request:
    """One job of `anabranch split`."""

    weights: tuple[str, ...]
    trace: str | None = None
    generate: str | None = None
    techniques: tuple[Choice, ...] = ()
    changes: tuple[Change, ...] = ()
    hash: str = "xxh3"
    seed: int = 0
    direction: str = "conversation"
    encapsulation: str = "outer"

    @property
    def function(self) -> Hash:
        """The packet hash that makes keys."""
        return next(hash_ for hash_ in hashes() if hash_.name == self.hash)


def choices(items: Iterable[str], where: str = "technique") -> tuple[Choice, ...]:
    """Parses techniques: `NAME` or `NAME:key=value:key=value`, each item a list of them; none means all."""
    names = [technique.name for technique in techniques()]
    chosen = []
    for text in (part for item in items for part in split_list(item)):
        name, *pairs = text.split(":")
        parameters = []
        for pair in pairs:
            key, equals, value = pair.partition("=")
            if not equals:
                raise AnabranchError(f"{where}: {text}: `{pair}` is no key=value; write {name}:key=value")
            parameters.append((key.strip(), value.strip()))
        chosen.append(Choice(choose(name, names, where), tuple(parameters)))
    if len(set(chosen)) < len(chosen):
        raise AnabranchError(f"{where}: {', '.join(c.label for c in chosen)}: one is named twice; leave it out")
    return tuple(chosen) or tuple(Choice(name) for name in names)


def read_toml(path: str) -> dict[str, Any]:
    """Reads the keys of a request file; unknown ones are an error."""
    try:
        text = Path(path).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise AnabranchError(f"{path}: byte {error.start}: not UTF-8; save the file as UTF-8") from None
    table = parse_toml(text, path)
    for key in table:
        if key not in KEYS:
            raise AnabranchError(f"{path}: {key}: unknown key; {nearest(key, KEYS)}")
    return table


def request(given: Mapping[str, Any]) -> Request:
    """Checks the values under the keys `KEYS`; None and empty values count as not given.

    `weights` may be text (`4,3,2`), numbers, or the name of a TOML file with any of the keys; `trace` may name such a
    file too. A value given beside the file overrides the one in it.
    """
    values = {key: value for key, value in given.items() if value not in (None, [], ())}
    for key in ("weights", "trace"):
        if isinstance(values.get(key), str) and values[key].endswith(".toml"):
            path = values.pop(key)
            values = {**read_toml(path), **values}
            return _checked(values, f"{path}: ")
    return _checked(values, "")


def _checked(values: Mapping[str, Any], file: str) -> Request:
    if "weights" not in values:
        raise AnabranchError(f"{file}weights: missing; give one per path, as in --weights 4,3,2")
    if ("trace" in values) == ("generate" in values):
        problem = "both given" if "trace" in values else "both missing"
        hint = "name a capture, - for standard input, or --generate datacenter:40000"
        raise AnabranchError(f"{file}trace, generate: {problem}; {hint}")
    weights = weights_of(values["weights"], file)
    events = [
        *(Change("weights", ",".join(weights_of(item, file))) for item in _list(values.get("change", []), nested=True)),
        *(Change("fail", str(item)) for item in _list(values.get("fail", []))),
        *(Change("drain", str(item)) for item in _list(values.get("drain", []))),
        *(Change("slow-start", str(item)) for item in _list(values.get("slow-start", []))),
        *(Change("add", weights_of(item, file)[0]) for item in _list(values.get("add", []))),
        *(Change("bounded-load", str(item)) for item in _list(values.get("bounded-load", []))),
    ]
    for event in events:
        event.after(weights)
    seed = values.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= SEED_MAX:
        raise AnabranchError(f"{file}seed: {seed}: out of range; give a whole number from 0 to {SEED_MAX}")
    return Request(
        weights=weights,
        trace=values.get("trace"),
        generate=values.get("generate"),
        techniques=choices(map(str, _list(values.get("technique", []))), f"{file}technique"),
        changes=tuple(events),
        hash=choose(str(values.get("hash", "xxh3")), [h.name for h in hashes()], f"{file}hash"),
        seed=seed,
        direction=choose(str(values.get("direction", "conversation")), DIRECTIONS, f"{file}direction"),
        encapsulation=choose(str(values.get("encap", "outer")), ENCAPSULATIONS, f"{file}encap"),
    )


def weights_of(value: Any, file: str = "") -> tuple[str, ...]:
    """Weights as text, from `4,3,2`, a number, or a list of numbers; `file` begins the error, as in `study.toml: `."""
    if isinstance(value, str):
        return tuple(split_list(value))
    items = list(value) if isinstance(value, list | tuple) else [value]
    if any(isinstance(item, bool) or not isinstance(item, int | float | str) for item in items):
        raise AnabranchError(f"{file}weights: {value}: not numbers; write them as in [4, 3, 2]")
    return tuple(weight_texts(items))


def _list(value: Any, nested: bool = False) -> list[Any]:
    """One value or many; with `nested`, a list of plain numbers is one value."""
    if not isinstance(value, list):
        return [value]
    if nested and value and not isinstance(value[0], list | str):
        return [value]
    return value
