"""Certificates for tests, made by openssl."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from anabranch.deploy.openflow.tls import Tls

NEW_KEY = ("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def make_certificates(folder: Path) -> dict[str, Tls]:
    """Certificates of a switch and a controller of one authority, and of another authority's."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is missing: apt install openssl")
    for name in ("ours", "theirs"):
        authority(folder, name)
    pairs = (("switch", "ours"), ("controller", "ours"), ("stranger", "theirs"))
    return {name: certificate(folder, name, signer) for name, signer in pairs}


def authority(folder: Path, name: str) -> None:
    """Makes one."""
    command = [*NEW_KEY, "-x509", "-days", "2"]
    command += ["-subj", f"/CN={name}", "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.pem"]
    subprocess.run(command, check=True, capture_output=True)


def certificate(folder: Path, name: str, signer: str, days: int = 2) -> Tls:
    """Makes a key, and has its certificate signed; with days below 0 it has expired."""
    request = [*NEW_KEY, "-subj", f"/CN={name}"]
    request += ["-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.csr"]
    subprocess.run(request, check=True, capture_output=True)
    sign = [
        "openssl",
        "x509",
        "-req",
        "-days",
        str(days),
        "-in",
        f"{folder}/{name}.csr",
        "-CA",
        f"{folder}/{signer}.pem",
    ]
    sign += ["-CAkey", f"{folder}/{signer}.key", "-CAcreateserial", "-out", f"{folder}/{name}.pem"]
    subprocess.run(sign, check=True, capture_output=True)
    return Tls(folder / f"{name}.key", folder / f"{name}.pem", folder / f"{signer}.pem")
