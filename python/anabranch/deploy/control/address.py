"""An address of a key, as Open vSwitch writes it: `unix:PATH`, `tcp:HOST:PORT` or `ssl:HOST:PORT`."""

from __future__ import annotations

from anabranch.files.hints import nearest
from anabranch.files.settings import Settings

KINDS = ("unix", "tcp", "ssl")
ADDRESS = "`unix:PATH`, `tcp:HOST:PORT` or `ssl:HOST:PORT`"


def take_address(settings: Settings, key: str, meaning: str) -> str:
    """Takes a key's address; empty if the key is missing.

    Raises:
        AnabranchError: it is no such address.

    """
    address = settings.text(key, "", meaning, otherwise="none", values=ADDRESS)
    if not address:
        return address
    kind, _, rest = address.partition(":")
    if kind not in KINDS:
        settings.refuse(key, address, f"not {' or '.join(f'{kind}:' for kind in KINDS)}; {nearest(kind, KINDS)}")
    if kind == "unix":
        if not rest:
            settings.refuse(key, address, "no path; give unix:/PATH")
        return address
    host, _, port = rest.rpartition(":")
    if not host or not port.isdecimal() or not 0 <= int(port) < 1 << 16:
        settings.refuse(key, address, f"not {kind}:HOST:PORT; give both, as in {kind}:10.0.0.1:6653")
    return address
