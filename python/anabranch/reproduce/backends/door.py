"""The door for code of a study: `code = "FILE.py:CLASS"` in `study.toml` names its backend, a class beside the study.

Studies of this package are its modules `anabranch.files.project.studies.PAPER.FIGURE.FILE`, in a checkout and in an
installed package, so that other processes can import them by name; those of another folder have a package of its own.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from types import ModuleType

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.files.project import study_root
from anabranch.reproduce.backends.backend import Backend
from anabranch.reproduce.claims.group import FILE, LAB, Group
from anabranch.reproduce.claims.positions import key_line

PACKAGE = "anabranch.files.project.studies"
EXAMPLE = 'give a file and its class, as in code = "lab.py:MyLab"'


def backend(group: Group) -> Backend:
    """The backend of a group: the engine's, or an object of the class that its study file names.

    Raises:
        AnabranchError: there is no such file or class, or it is no backend; the message has file, line, key and value.

    """
    if not group.code:
        if group.backend == LAB:
            raise AnabranchError(f"{group.folder / FILE}: code: missing: every lab is a study's own; {EXAMPLE}")
        engine: Backend = importlib.import_module(f"anabranch.reproduce.backends.{group.backend}").BACKEND
        return engine
    return _chosen(group)()


def _chosen(group: Group) -> type[Backend]:
    where, _, name = group.code.rpartition(":")
    path = (group.folder / where).resolve()
    root = group.folder.resolve().parents[1]
    if not where.endswith(".py") or not name.isidentifier():
        raise _refused(group, f"no FILE.py:CLASS; {EXAMPLE}")
    if not path.is_relative_to(root):
        raise _refused(group, f"{path}: outside {root}; keep a study's code in that folder")
    if not path.is_file():
        known = sorted(one.name for one in group.folder.glob("*.py"))
        raise _refused(group, f"{path}: no such file; {nearest(path.name, known) if known else EXAMPLE}")
    try:
        module = _load(path, root)
    except AnabranchError:
        raise
    except Exception as error:  # Whatever its author wrote.
        raise _refused(group, f"{path.name}: {type(error).__name__}: {error}; run it by itself") from error
    chosen = getattr(module, name, None)
    if not isinstance(chosen, type) or not issubclass(chosen, Backend) or chosen.__abstractmethods__:
        known = [one for one, value in vars(module).items() if _is_own_backend(value, module)]
        hint = nearest(name, known) if known else "write one that inherits Backend, CellBackend or LabBackend"
        lacking = ", ".join(sorted(getattr(chosen, "__abstractmethods__", ())))
        what = "no such class" if chosen is None else f"lacks {lacking}" if lacking else "no backend"
        raise _refused(group, f"{name}: {what}; {hint}")
    return chosen


def _is_own_backend(value: object, module: ModuleType) -> bool:
    own = isinstance(value, type) and issubclass(value, Backend) and value.__module__ == module.__name__
    return own and not getattr(value, "__abstractmethods__", ())


def _refused(group: Group, problem: str) -> AnabranchError:
    file = group.folder / FILE
    line = key_line(file.read_text(encoding="utf-8"), 0, "code")
    return AnabranchError(f"{file}:{line}: code: {group.code}: {problem}")


def _load(path: Path, root: Path) -> ModuleType:
    """The module of a file below a folder of studies."""
    package = PACKAGE
    if root != study_root().resolve():
        package = f"anabranch_studies_{blake2b(str(root).encode(), digest_size=6).hexdigest()}"
        if package not in sys.modules:
            sys.modules[package] = ModuleType(package)
            sys.modules[package].__path__ = [str(root)]
    with _without_bytecode():
        return importlib.import_module(".".join([package, *path.relative_to(root).with_suffix("").parts]))


@contextmanager
def _without_bytecode() -> Iterator[None]:
    """Leaves no `__pycache__` beside a study, least of all in an installed package."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before
