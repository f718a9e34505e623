"""Classes of schemes as files: the file that a class stands in, or one written of a script's or a notebook's class."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.simulate.own.scheme import Scheme

MAIN = "__main__"


def own_file(kind: type[Scheme]) -> Path | None:
    """File of a class that can be imported by itself; None for a class of a script or a notebook.

    A script is more than its class: importing it would run the script once more.

    Raises:
        AnabranchError: the class stands within a function or another class, or in no file.

    """
    if "." in kind.__qualname__:
        raise AnabranchError(f"{kind.__qualname__}: stands within something; hint: define it at the top of a module")
    if kind.__module__ == MAIN:
        return None
    file = inspect.getsourcefile(kind)
    if file is None:
        raise AnabranchError(f"{kind.__qualname__}: its source cannot be read; hint: write the class into a file")
    return Path(file)


def extracted(kind: type[Scheme]) -> str:
    """Text of a module with the class of a script or a notebook, and what it needs of that.

    Raises:
        AnabranchError: the source cannot be read, or it needs a value that is no constant.

    """
    needed: dict[str, str] = {}
    _collect(kind, vars(sys.modules[kind.__module__]), needed, kind.__name__)
    imports = sorted(text for text in needed.values() if text.startswith(("import ", "from ")))
    return "\n".join([*imports, "", *(text for text in needed.values() if text not in imports)])


def _collect(what: Any, names: dict[str, Any], needed: dict[str, str], kind: str) -> None:
    """Adds the source of a class or function, what it needs first."""
    try:
        text = inspect.getsource(what)
    except (OSError, TypeError):
        raise AnabranchError(
            f"{kind}: the source of {what.__name__} cannot be read; hint: write the class into a file"
        ) from None
    needed.setdefault(what.__name__, "")
    for name in _used(text):
        if name in needed or name not in names or (hasattr(builtins, name) and name not in names):
            continue
        value = names[name]
        if isinstance(value, ModuleType):
            needed[name] = f"import {value.__name__} as {name}\n"
        elif getattr(value, "__module__", None) == MAIN and (inspect.isclass(value) or inspect.isfunction(value)):
            _collect(value, names, needed, kind)
        elif hasattr(value, "__module__") and hasattr(value, "__qualname__"):
            needed[name] = f"from {value.__module__} import {value.__qualname__} as {name}\n"
        elif _constant(value):
            needed[name] = f"{name} = {value!r}\n"
        else:
            raise AnabranchError(
                f"{kind}: it uses {name}, a {type(value).__name__} of the script; hint: make it a number, a text or an "
                "attribute of the class, or write the class into a file"
            )
    # What it needs stands before it.
    del needed[what.__name__]
    needed[what.__name__] = text


def _used(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def _constant(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_constant, value))
    if isinstance(value, dict):
        return all(_constant(one) for pair in value.items() for one in pair)
    return value is None or isinstance(value, (bool, int, float, str))
