"""Certificates of both ends: each end shows one, and trusts those of one authority."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from anabranch import AnabranchError


@dataclass(frozen=True)
class Tls:
    """PEM files, as `ovs-pki` makes them.

    Names in certificates are not compared: those of Open vSwitch carry none of hosts, and whoever the authority
    vouches for is in the fabric.
    """

    key: Path
    certificate: Path
    authority: Path

    def context(self, *, server: bool) -> ssl.SSLContext:
        """For one side of connections; the other side must show a certificate of the authority.

        Raises:
            AnabranchError: a file is missing or is no key or certificate.

        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        files = f"{self.authority}"
        try:
            context.load_verify_locations(self.authority)
            files = f"{self.certificate}, {self.key}"
            context.load_cert_chain(self.certificate, self.key)
        except OSError as error:
            raise AnabranchError(f"tls: {files}: {error.strerror or error}; give PEM files that fit together") from None
        return context
