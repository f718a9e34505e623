"""Code that a study brings: loaded by the name of a class, without bytecode, wherever the study stands."""

from __future__ import annotations

import multiprocessing
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch.files.errors import AnabranchError
from anabranch.reproduce.backends import door
from anabranch.reproduce.backends.door import PACKAGE, backend
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.selection import groups, select

OWN = """
from anabranch.reproduce.backends.backend import Backend
from anabranch.reproduce.backends.cell_evidence import CellBackend

from .numbers_of import ANSWER


class Own(CellBackend):
    answer = ANSWER

    def prepare(self, group, quick, output):
        raise NotImplementedError


class Half(CellBackend):
    pass


class Other:
    pass
"""


def study(tmp_path: Path, code: str, answer: int = 1) -> Group:
    """A study of somebody's own, below a folder `studies`."""
    folder = tmp_path / "studies" / "mine" / "fig-1"
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(f'name = "mine"\nbackend = "own"\ncode = "{code}"\n')
    (folder / "own.py").write_text(OWN)
    (folder / "numbers_of.py").write_text(f"ANSWER = {answer}\n")
    (folder / "broken.py").write_text("class Own:\n    answer = 1 / 0\n")
    (folder / "lacking.py").write_text("import no_such_module\n")
    return Group("mine", "fig-1", "mine", folder, "own", code)


def test_a_study_of_ones_own_is_selected_and_its_class_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = study(tmp_path, "own.py:Own")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (group,) = select(["mine"])
    assert (group.backend, group.code) == ("own", made.code)
    assert backend(group).answer == 1  # type: ignore[attr-defined]
    # A study of the same name elsewhere is another one, in the same process.
    elsewhere = study(tmp_path / "elsewhere", "own.py:Own", answer=2)
    assert backend(elsewhere).answer == 2  # type: ignore[attr-defined]
    assert not list(tmp_path.rglob("__pycache__"))
    assert not sys.dont_write_bytecode


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("own", "no FILE.py:CLASS; give a file and its class, as in code = "),
        ("own.py", "no FILE.py:CLASS"),
        ("own.py:Own-1", "no FILE.py:CLASS"),
        ("owm.py:Own", "mine/fig-1/owm.py: no such file; did you mean own.py?"),
        ("../../../own.py:Own", "studies; keep a study's code in that folder"),
        ("own.py:Owl", "Owl: no such class; did you mean Own?"),
        ("own.py:Other", "Other: no backend; use one of Own"),
        ("own.py:Half", "Half: lacks prepare; use one of Own"),
        ("numbers_of.py:Own", "Own: no such class; write one that inherits Backend, CellBackend or LabBackend"),
        ("broken.py:Own", "broken.py: ZeroDivisionError: division by zero; run it by itself"),
        ("lacking.py:Own", "lacking.py: ModuleNotFoundError: No module named 'no_such_module'; run it by itself"),
    ],
)
def test_a_name_of_no_class_is_refused_with_file_and_line(tmp_path: Path, code: str, problem: str) -> None:
    with pytest.raises(AnabranchError) as caught:
        backend(study(tmp_path, code))
    message = str(caught.value)
    assert message.startswith(f"{tmp_path}/studies/mine/fig-1/study.toml:3: code: {code}: ")
    assert problem in message


def test_a_lab_without_code_is_refused(tmp_path: Path) -> None:
    group = Group("mine", "fig-1", "mine", study(tmp_path, "own.py:Own").folder, "lab")
    with pytest.raises(AnabranchError, match=r"study.toml: code: missing: every lab is a study's own; give a file"):
        backend(group)


def test_classes_of_our_studies_are_modules_that_another_process_imports() -> None:
    own = [group for group in groups() if group.code]
    assert len(own) == 9
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        for group in own:
            kind = type(backend(group))
            assert kind.__module__.startswith(f"{PACKAGE}.{group.paper}.")
            # A class is pickled by its name: the other process imports it.
            assert pool.apply_async(_named, (kind,)).get(120) == kind.__qualname__


def _named(kind: type) -> str:
    return kind.__qualname__


def test_our_studies_leave_no_bytecode_and_run_as_modules(tmp_path: Path) -> None:
    root = tmp_path / "installed"
    package = Path(door.__file__).parents[2]
    shutil.copytree(package, root / "anabranch", ignore=shutil.ignore_patterns("__pycache__", "record", "sources"))
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from anabranch.reproduce.backends.door import backend\n"
        "from anabranch.reproduce.selection import groups\n"
        "kinds = [type(backend(group)) for group in groups() if group.code]\n"
        "print(len(kinds), kinds[0].__module__, sys.modules[kinds[0].__module__].__file__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(root)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    count, module, file = done.stdout.split()
    assert (int(count), Path(file).is_relative_to(root)) == (9, True)
    assert list((root / "anabranch" / "files").rglob("__pycache__"))
    studies = root / "anabranch" / "files" / "project" / "studies"
    assert list((studies / "wino").rglob("*.py"))
    assert not list(studies.rglob("__pycache__"))
    as_module = subprocess.run([sys.executable, "-m", module], capture_output=True, text=True, check=False)
    assert as_module.returncode == 0, as_module.stderr
