"""Certificates of both ends: each end shows one, and trusts those of one authority."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from anabranch.deploy.openflow.address import SSL, Address
from anabranch.files.errors import AnabranchError

X509_NOT_YET_VALID, X509_EXPIRED = 9, 10
"""`X509_V_ERR_CERT_NOT_YET_VALID`, `X509_V_ERR_CERT_HAS_EXPIRED` of openssl/x509_vfy.h."""


@dataclass(frozen=True)
class Tls:
    """Certificates as PEM files, in the form of `ovs-pki`.

    Names in certificates are not compared: those of Open vSwitch carry none of hosts, and whoever the authority
    vouches for is in the fabric.
    """

    key: Path
    certificate: Path
    authority: Path

    def context(self, *, server: bool) -> ssl.SSLContext:
        """Context for one side of connections; the other side must show a certificate of the authority.

        Raises:
            AnabranchError: a file is missing, is no key or certificate, or is a key that needs a pass phrase.

        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        files = f"{self.authority}"
        try:
            context.load_verify_locations(self.authority)
            files = f"{self.certificate}, {self.key}"
            context.load_cert_chain(self.certificate, self.key, self._refuse_pass_phrase)
        except OSError as error:
            raise AnabranchError(f"tls: {files}: {error.strerror or error}; give PEM files that fit together") from None
        return context

    def _refuse_pass_phrase(self) -> str:
        # OpenSSL would ask for it on the terminal, and a daemon would wait there for ever.
        hint = f"openssl pkey -in {self.key} -out NEW.key, and chmod 600 NEW.key"
        raise AnabranchError(f"tls: {self.key}: the key is encrypted, and nobody is asked for a pass phrase; {hint}")


def context_for(where: Address, tls: Tls | None, *, server: bool) -> ssl.SSLContext | None:
    """Context that an address needs; None if it is not `ssl:`.

    Raises:
        AnabranchError: the address is `ssl:` and there are no certificates, or one of them is refused.

    """
    if where.kind != SSL:
        return None
    if tls is None:
        raise AnabranchError(f"address: {where}: ssl needs a key, a certificate and an authority; give them")
    return tls.context(server=server)


@dataclass(frozen=True)
class Peer:
    """Hints about the other end of a handshake that fails."""

    question: str
    certify: str
    """Command or setting that gives it a certificate and an authority."""
    connect: str
    """Command or setting that has it speak TLS."""
    trust: str
    """Where our authority is given."""


SWITCH = Peer(
    "does a switch call, and by TLS?",
    "ovs-vsctl set-ssl KEY CERTIFICATE AUTHORITY",
    "ovs-vsctl set-controller BRIDGE ssl:HOST:PORT",
    "[tls]",
)


def handshake_error(error: OSError, peer: Peer = SWITCH) -> AnabranchError:
    """Explains why the other end did not get through the TLS handshake, and what helps."""
    return AnabranchError(f"TLS: {_reason(error, peer)}")


def _reason(error: OSError, peer: Peer) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code == X509_EXPIRED:
            return "its certificate has expired; sign a new one, or set both clocks right"
        if error.verify_code == X509_NOT_YET_VALID:
            return "its certificate is not valid yet; set both clocks right"
        hint = f"have its certificate signed by the authority of {peer.trust}, or give the one that did"
        return f"its certificate is refused: {error.verify_message}; {hint}"
    if isinstance(error, ssl.SSLError):
        reason = error.reason or ""
        if reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
            return f"it shows no certificate; {peer.certify}"
        if "ALERT" in reason:
            alert = reason.partition("ALERT_")[2].replace("_", " ").lower()
            hint = f"give it our authority: {peer.certify}"
            return f"it refuses our certificate ({alert}); {hint}"
        if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "UNKNOWN_PROTOCOL"):
            return f"it does not speak TLS; {peer.connect}"
        if reason in ("UNSUPPORTED_PROTOCOL", "VERSION_TOO_LOW"):
            return "it offers no TLS 1.2 or newer; update its OpenSSL"
        return f"{reason.replace('_', ' ').lower() or error}; {peer.question}"
    if isinstance(error, ConnectionAbortedError):
        return f"its handshake takes too long; {peer.question}"
    return f"{error.strerror or 'it closed the connection in the handshake'}; {peer.question}"
