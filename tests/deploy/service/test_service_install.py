"""What `anabranch install` refuses, and how it writes a unit."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from anabranch.deploy.service.access import Reader
from support.command import Run, anabranch
from support.needs import brings, declares

KEYS = ("--key", "PLAN", "--certificate", "PLAN", "--authority", "PLAN")
NOBODY = 65534
PLAN = """\
[[group]]
name = "a"
match = { ip_dst = "10.2.0.0/16" }
ports = ["e1", "e2"]
weights = [3, 1]
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    return file


def install(folder: Path, *arguments: str) -> Run:
    return anabranch("install", "--systemd", "--user", "root", "--folder", str(folder), *arguments)


def test_it_is_written_once_and_other_content_stays(tmp_path: Path, plan: Path) -> None:
    command = ("apply", str(plan), "--target", "linux", "--follow")
    written = install(tmp_path, *command)
    file = tmp_path / "anabranch-apply-plan.service"
    assert written.stdout.splitlines()[0] == f"{file}: written"
    assert "systemctl daemon-reload && systemctl enable --now anabranch-apply-plan" in written.stdout
    assert install(tmp_path, *command).stdout.splitlines()[0] == f"{file}: as it was"
    shown = install(tmp_path, "--dry-run", *command).stdout
    assert shown == file.read_text()
    file.write_text("[Service]\n")
    refused = install(tmp_path, *command)
    assert refused.returncode == 2
    assert f"{file}: there is one with other content; give --overwrite" in refused.stderr
    assert file.read_text() == "[Service]\n"
    assert install(tmp_path, "--overwrite", *command).returncode == 0
    assert file.read_text() == shown


def test_names_of_files_become_absolute(tmp_path: Path, plan: Path) -> None:
    here = ("install", "--systemd", "--user", "root", "--dry-run", "apply", "plan.toml", "--target=linux", "--follow")
    said = anabranch(*here, cwd=tmp_path).stdout
    assert f" -m anabranch apply {plan} --target=linux --follow\n" in said
    assert "WorkingDirectory" not in said


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("run", "x.toml"), "command: run: unknown; use one of agent, apply, control, mark"),
        (("apply", "PLAN", "--target", "linux"), "follow: missing; a service follows the links: give --follow"),
        (("apply", "PLAN", "--follow"), "target ovs: follow: "),
        (("apply", "PLAN", "--target", "linux", "--follow", "--dry-run"), "dry-run: not for a service; leave it out"),
        (("apply", "PLAN", "--target", "linux", "--follow", "--nonsense"), "No such option: --nonsense"),
        (("apply", "nowhere.toml", "--target", "linux", "--follow"), "nowhere.toml: No such file or directory"),
        (("control", "nowhere.toml"), "nowhere.toml: No such file or directory"),
        (("agent", "ssl:192.0.2.7"), "address: ssl:192.0.2.7:6655: ssl needs a key, a certificate and an authority"),
        (("agent", "ssl:192.0.2.7", "--key", "a"), "certificate: missing; ssl takes --key, --certificate and"),
        (("agent", "ssl:192.0.2.7", *KEYS), "tls: PLAN: [X509: NO_CERTIFICATE_OR_CRL_FOUND]"),
        (("agent", "unix:/run/a", *KEYS), "address: unix:/run/a: uses no key, certificate and authority"),
        (("mark",), "labels: missing; give the controller's address"),
        (("mark", "http://192.0.2.1/", "--once"), "once: not for a service; leave it out"),
        (("mark", "http://192.0.2.1/", "--netns", "a"), "give the unit NetworkNamespacePath=/run/netns/a"),
        (("mark", "nowhere.json"), "nowhere.json: No such file or directory; a service does not make it"),
        (("--name", "a b", "mark", "http://192.0.2.1/"), "name: a b: not the name of a unit"),
        (("--user", "nobody-of-this-name", "mark", "http://192.0.2.1/"), "user: nobody-of-this-name: no such user"),
        (("mark", "http://192.0.2.1/\n[Service]"), "has a control character, which no unit may"),
    ],
)
def test_what_is_refused(tmp_path: Path, plan: Path, arguments: tuple[str, ...], problem: str) -> None:
    given = [str(plan) if one == "PLAN" else one for one in arguments]
    problem = problem.replace("PLAN", str(plan))
    units = tmp_path / "units"
    units.mkdir()
    refused = install(units, *given)
    assert refused.returncode == 2
    assert problem in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert list(units.iterdir()) == []


def test_a_service_manager_is_named(plan: Path) -> None:
    refused = anabranch("install", "apply", str(plan), "--target", "linux", "--follow")
    assert refused.returncode == 2
    assert "systemd: missing; give --systemd" in refused.stderr


@declares("root")
def in_public_folder(test: Callable[[Path], None]) -> Callable[[], None]:
    """The test with a folder that anybody may pass to, which those of pytest are not."""

    def run() -> None:
        with tempfile.TemporaryDirectory(dir="/run") as folder:
            Path(folder).chmod(0o755)
            test(Path(folder))

    return brings("root")(run)


@in_public_folder
def test_who_may_read_is_what_the_kernel_says(public: Path) -> None:
    # All modes of a folder and a file in it that say something of its own kind, for each owner and group.
    folder, nobody = public / "folder", Reader("nobody", NOBODY, frozenset({NOBODY}))
    folder.mkdir()
    file = folder / "file"
    file.write_text("x")
    said, kernel = [], []
    for owner, group in ((owner, group) for owner in (0, NOBODY) for group in (0, NOBODY)):
        for folder_mode in (0o700, 0o070, 0o007, 0o755, 0o644):
            for file_mode in (0o600, 0o040, 0o004, 0o444, 0o222):
                for path, mode in ((folder, folder_mode), (file, file_mode)):
                    os.chown(path, owner, group)
                    path.chmod(mode)
                for flags in (os.O_RDONLY, os.O_WRONLY):
                    said.append(nobody.refused_at(file, writes=flags == os.O_WRONLY) is None)
                    kernel.append(_opens_as_nobody(file, flags))
    assert said == kernel
    assert {*kernel} == {True, False}


def _opens_as_nobody(file: Path, flags: int) -> bool:
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([NOBODY])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            os.close(os.open(file, flags))
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0
