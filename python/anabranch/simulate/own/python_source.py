"""A scheme in Python files, as a study names it: found, read once, and loaded from what was read."""

from __future__ import annotations

import ast
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from modulefinder import ModuleFinder
from pathlib import Path
from types import ModuleType

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.simulate.own.scheme import Scheme, asked

IMPORTING = threading.RLock()
"""Held while modules are loaded: they stand among all modules of the process meanwhile."""


@dataclass(frozen=True)
class SourceFile:
    """A module of a scheme."""

    module: str
    path: str
    text: str
    package: bool = False


@dataclass(frozen=True)
class PythonSource:
    """A class of a Python file with all modules that it needs from its own folder; it can travel to other machines."""

    text: str
    """Value of the axis, as written: `FILE.py:CLASS` or `MODULE:CLASS`."""
    module: str
    class_name: str
    files: tuple[SourceFile, ...]

    @property
    def digest(self) -> str:
        """Digest of the class's name and of the text of all files: another text is another scheme."""
        content = [self.module, self.class_name, *([one.module, one.text] for one in self.files)]
        return blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()

    def scheme(self) -> Scheme:
        """Makes a new object of the class, with nothing remembered.

        Raises:
            AnabranchError: the file cannot be imported, or the class is missing, is no scheme or wants arguments.

        """
        with _importing(self.files):
            try:
                module = import_module(self.module)
            except Exception as error:  # Whatever their author wrote.
                raise AnabranchError(f"{self.text}: {self.explained(error)}") from error
        kind = getattr(module, self.class_name, None)
        if kind is None:
            known = [name for name, value in vars(module).items() if _is_scheme(value) and value is not Scheme]
            hint = nearest(self.class_name, known) if known else "write one that inherits ab.Scheme"
            raise AnabranchError(f"{self.text}: there is no class {self.class_name}; {hint}")
        if not _is_scheme(kind):
            raise AnabranchError(f"{self.text}: {self.class_name} is no ab.Scheme; let it inherit ab.Scheme")
        try:
            scheme: Scheme = kind()
        except Exception as error:
            raise AnabranchError(
                f"{self.text}: {self.explained(error)}; hint: each run makes a new object without arguments, so give "
                "them defaults"
            ) from error
        try:
            asked(scheme)
        except AnabranchError as error:
            raise AnabranchError(f"{self.text}: {error}") from None
        return scheme

    def explained(self, error: BaseException) -> str:
        """Describes an exception of the scheme's code by file, line and method, in one line."""
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        if isinstance(error, SyntaxError):
            return f"{Path(error.filename or self.text).name}:{error.lineno}: {error.msg}"
        own = {one.path for one in self.files}
        frames, place = error.__traceback__, ""
        while frames is not None:
            code = frames.tb_frame.f_code
            if code.co_filename in own:
                inside = "" if code.co_name == "<module>" else f"{code.co_name}: "
                place = f"{Path(code.co_filename).name}:{frames.tb_lineno}: {inside}"
            frames = frames.tb_next
        return f"{place}{what}"


def read_source(text: str, folder: Path) -> PythonSource:
    """Reads the scheme that `text` names; a file is relative to `folder`.

    Raises:
        AnabranchError: there is no such file, module or class, or it cannot be imported.

    """
    where, _, class_name = text.rpartition(":")
    if not class_name.isidentifier():
        raise AnabranchError(f"{text}: no name of a class after the colon; give FILE.py:CLASS")
    if where.endswith(".py"):
        path = (folder / where).resolve()
        source = PythonSource(text, path.stem, class_name, tuple(_files_beside(text, path)))
    else:
        source = PythonSource(text, where, class_name, tuple(_files_of_package(text, where)))
    source.scheme()
    return source


def _files_beside(text: str, path: Path) -> Iterator[SourceFile]:
    """The file, and the modules that it imports from its folder."""
    main = _read(text, path)
    try:
        ast.parse(main, str(path))
        finder = ModuleFinder(path=[str(path.parent)])
        finder.run_script(str(path))
    except SyntaxError as error:
        raise AnabranchError(f"{text}: {Path(error.filename or path).name}:{error.lineno}: {error.msg}") from None
    yield SourceFile(path.stem, str(path), main)
    for name, module in sorted(finder.modules.items()):
        beside = getattr(module, "__file__", None)
        if beside and name not in ("__main__", path.stem):
            package = bool(getattr(module, "__path__", None))
            yield SourceFile(name, beside, _read(text, Path(beside)), package)


def _files_of_package(text: str, module: str) -> Iterator[SourceFile]:
    """All files of the package that a module belongs to, or the module alone."""
    top = module.partition(".")[0]
    try:
        spec = find_spec(top) if top else None
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        raise AnabranchError(
            f"{text}: there is no Python module {top}; give a file, as in my_scheme.py:{text.rpartition(':')[2]}, or "
            "install its package"
        )
    first = Path(spec.origin)
    if not spec.submodule_search_locations:
        yield SourceFile(top, str(first), _read(text, first))
        return
    for path in sorted(first.parent.rglob("*.py")):
        inner = path.relative_to(first.parent)
        package = inner.name == "__init__.py"
        parts = inner.parent.parts if package else inner.with_suffix("").parts
        yield SourceFile(".".join([top, *parts]), str(path), _read(text, path), package)


def _read(text: str, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise AnabranchError(f"{text}: {path}: {error.strerror}; give the file of a class that can be read") from None
    except UnicodeDecodeError:
        raise AnabranchError(f"{text}: {path}: not text in UTF-8; give a Python file") from None


def _is_scheme(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Scheme)


class _FromText(MetaPathFinder, Loader):
    """Imports modules from texts that were read before, so that what runs is what has the digest."""

    def __init__(self, files: Sequence[SourceFile]) -> None:
        self._files = {one.module: one for one in files}

    def find_spec(self, fullname: str, _path: object, _target: object = None) -> ModuleSpec | None:
        file = self._files.get(fullname)
        if file is None:
            return None
        return spec_from_loader(fullname, self, origin=file.path, is_package=file.package)

    def exec_module(self, module: ModuleType) -> None:
        file = self._files[module.__name__]
        module.__file__ = file.path
        exec(compile(file.text, file.path, "exec"), module.__dict__)


@contextmanager
def _importing(files: Sequence[SourceFile]) -> Iterator[None]:
    """Makes modules importable during the block; afterwards modules of their names are what they were."""
    names = [one.module for one in files]
    finder = _FromText(files)
    with IMPORTING:
        before = {name: sys.modules.pop(name) for name in names if name in sys.modules}
        sys.meta_path.insert(0, finder)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)
            for name in names:
                sys.modules.pop(name, None)
            sys.modules.update(before)
