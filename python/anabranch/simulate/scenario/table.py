"""A table of a scenario: a dict whose keys are attributes too, as the compiled reader knows them."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from anabranch.files.errors import AnabranchError
from anabranch.simulate.runs.literal import file_text, plain
from anabranch.simulate.runs.load import UNNAMED
from anabranch.simulate.scenario import keys
from anabranch.simulate.scenario.keys import TABLE, TABLES, VALUE, Key

T = TypeVar("T", bound="Table")
Above = tuple["Table", str]
"""Table that another one stands in, and its key there."""


class Table(Mapping[str, Any]):
    """Keys of one table. `table.leaves` and `table["leaves"]` are the same; one that is not set shows its default.

    Names that Python keeps for itself have an underscore: `measure.from_`.
    """

    PATH: ClassVar[str] = ""
    """Keys that lead to the table, joined by dots; the whole scenario has none."""
    KINDS: ClassVar[dict[str, type[Table]]] = {}
    """Class of each table, by its path."""

    def __init__(self, given: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        vars(self).update(_given={}, _above=None)
        self.update(given or {}, **more)

    def __init_subclass__(cls) -> None:
        """Lists the class under its path, and shows notebooks the names of its keys."""
        Table.KINDS.setdefault(cls.PATH, cls)
        named: dict[str, str] = {}
        for kind in cls.__mro__:
            named |= {name: text for name, text in vars(kind).get("__annotations__", {}).items() if not name.isupper()}
        given = inspect.Parameter(
            "given", inspect.Parameter.POSITIONAL_ONLY, default=None, annotation="Mapping[str, Any] | None"
        )
        shown = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=text)
            for name, text in named.items()
        ]
        cls.__signature__ = inspect.Signature([given, *shown])  # type: ignore[attr-defined]

    def __getitem__(self, name: str) -> Any:
        """Value that was set."""
        return _shown(self, name, self._given[name])

    def __setitem__(self, name: str, value: Any) -> None:
        """Sets a value. Its key is checked at once, the value when the scenario is used.

        Raises:
            AnabranchError: no scenario has this key.

        """
        self._attached().update(_plain(self.PATH, {name: value}, self._file()))

    def __delitem__(self, name: str) -> None:
        """Removes a value, so that the default counts."""
        del self._given[name]

    def __iter__(self) -> Iterator[str]:
        """Names of the keys that are set."""
        return iter(self._given)

    def __len__(self) -> int:
        """Number of keys that are set."""
        return len(self._given)

    def __getattr__(self, name: str) -> Any:
        """Value that was set, or the default."""
        if name.startswith("_"):
            raise AttributeError(name)
        key = _key(name)
        if key in self._given:
            return self[key]
        path = below(self.PATH, key)
        known = keys.every_key().get(path)
        if known is None:
            raise AttributeError(keys.unknown(self.PATH, key) or f"{path}: not set")
        if known.sort != VALUE:
            return _shown(self, key, {} if known.sort == TABLE else [])
        return self._known().get(path, known).default

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets a value, as `table[name] = value` does."""
        self[_key(name)] = value

    def __delattr__(self, name: str) -> None:
        """Removes a value, so that the default counts."""
        del self[_key(name)]

    def __dir__(self) -> list[str]:
        """Names for completion: the keys that a table of this kind has."""
        return [*super().__dir__(), *(_attribute(path.rpartition(".")[2]) for path in self.known_keys())]

    def update(self, given: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Sets several keys, as the method of dicts does.

        Raises:
            AnabranchError: no scenario has one of these keys.

        """
        for name, value in {**(given or {}), **more}.items():
            self[_key(name)] = value

    def to_dict(self) -> dict[str, Any]:
        """The keys that are set, as plain dicts and lists."""
        return {name: plain(value) for name, value in self._given.items()}

    def known_keys(self) -> dict[str, Key]:
        """Keys that a table of this kind has, by their paths."""
        return {path: key for path, key in self._known().items() if path.rpartition(".")[0] == self.PATH}

    def copy(self: T) -> T:
        """A copy that shares nothing with the original."""
        return type(self)(self.to_dict())

    __copy__ = copy

    def __deepcopy__(self: T, memo: dict[int, Any]) -> T:
        return self.copy()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{_attribute(k)}={v!r}' for k, v in self._given.items())})"

    def _repr_html_(self) -> str:
        """Every key with its value and meaning, for notebooks; those that are set are bold."""
        from anabranch.simulate.scenario.key_table import key_table

        return key_table(self, self.known_keys())

    def _attached(self) -> dict[str, Any]:
        """The dict to write into, which from now on stands in the table above."""
        if self._above is not None:
            table, name = self._above
            vars(self)["_given"] = table._attached().setdefault(name, self._given)
        given: dict[str, Any] = self._given
        return given

    def _file(self) -> str:
        return UNNAMED if self._above is None else self._above[0]._file()

    def _known(self) -> Mapping[str, Key]:
        """Keys of the document around this table, the values that are set in place of defaults."""
        document, path = self.to_dict(), self.PATH
        if self._above is not None and (above := self._above[0]).PATH:
            known: Mapping[str, Key] = above._known()
            return known
        while path:
            path, _, name = path.rpartition(".")
            document = {name: document}
        try:
            return keys.keys_of(file_text(document))
        except AnabranchError:  # A value that cannot be written down, which is said when the scenario is used.
            return keys.every_key()


class Tables(MutableSequence[T], Generic[T]):
    """Tables of one name, as a list; dicts become tables."""

    def __init__(self, path: str, given: list[Any], above: Above) -> None:
        self._path, self._given, self._above = path, given, above

    def __getitem__(self, index: Any) -> Any:
        """Entry by its number."""
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        entry = self._given[index]
        # What is no table is refused when the scenario is used.
        return _over(self._path, entry, None) if isinstance(entry, dict) else entry

    def __setitem__(self, index: Any, value: Any) -> None:
        """Replaces an entry."""
        self._attached()[index] = _plain(self._path, value, self._above[0]._file())

    def __delitem__(self, index: Any) -> None:
        """Removes an entry."""
        del self._given[index]

    def __len__(self) -> int:
        """Number of entries."""
        return len(self._given)

    def insert(self, index: int, value: Any) -> None:
        """Inserts an entry: a table, or a dict of its keys."""
        self._attached().insert(index, _plain(self._path, value, self._above[0]._file()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Tables, list)) and self._given == plain(list(other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def _attached(self) -> list[Any]:
        table, name = self._above
        self._given = table._attached().setdefault(name, self._given)
        return self._given


def below(path: str, name: str) -> str:
    """Path of a key in the table of a path."""
    return f"{path}.{name}" if path else name


def _over(path: str, given: dict[str, Any], above: Above | None) -> Table:
    """Table over a dict that stands in another one, or will once something is written into it."""
    kind = Table.KINDS.get(path) or type("Table", (Table,), {"PATH": path})
    table: Table = object.__new__(kind)
    vars(table).update(_given=given, _above=above)
    return table


def _shown(table: Table, name: str, value: Any) -> Any:
    """A value as its table's class or list, so that what is written into it stands in the scenario."""
    path = below(table.PATH, name)
    known = keys.every_key().get(path)
    if known is not None and known.sort == TABLE and isinstance(value, dict):
        return _over(path, value, (table, name))
    if known is not None and known.sort == TABLES and isinstance(value, list):
        return Tables(path, value, (table, name))
    return value


def _plain(path: str, value: Any, file: str) -> Any:
    """A copy of a table as dicts and lists.

    Raises:
        AnabranchError: a key that no table of this path has.

    """
    if not isinstance(value, Mapping):
        return plain(value)
    values: dict[str, Any] = {}
    for name, item in value.items():
        if problem := keys.unknown(path, str(name)):
            raise AnabranchError(f"{file}: {problem}")
        within = below(path, str(name))
        known = keys.every_key().get(within)
        if known is None or known.sort == VALUE:
            values[name] = plain(item)
        elif known.sort == TABLES and isinstance(item, (Mapping, Sequence)) and not isinstance(item, (str, bytes)):
            entries = [item] if isinstance(item, Mapping) else item
            values[name] = [_plain(within, one, file) for one in entries]
        else:
            values[name] = _plain(within, item, file)
    return values


def _key(name: str) -> str:
    """Key of an attribute: without the underscore of names that Python keeps for itself."""
    return name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name


def _attribute(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name
