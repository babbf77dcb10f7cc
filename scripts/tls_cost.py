"""What TLS costs a server: a handshake that resumes nothing, and the records of one request.

Both ends run in this process over memory, so that nothing but TLS is measured; the server's steps
alone are timed.
"""

import datetime
import ssl
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HANDSHAKES = 300
REQUEST, ANSWER = 400, 220
NAME = "localhost"


@dataclass(frozen=True)
class TlsCosts:
    """Microseconds of the server's processor, and bytes both ways."""

    tls_handshake: float
    tls_record: float
    tls_handshake_bytes: float
    tls_record_bytes: float


def measured_tls(connections: int = HANDSHAKES) -> TlsCosts:
    """Medians over new connections, each with a certificate of the curve P-256."""
    server, client = _contexts()
    found = [_connection(server, client) for _ in range(connections)]
    return TlsCosts(*(statistics.median(column) for column in zip(*found, strict=True)))


def _connection(server: ssl.SSLContext, client: ssl.SSLContext) -> tuple[float, ...]:
    """One connection with one request and its answer."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(down, up, server_hostname=NAME)
    serving = server.wrap_bio(up, down, server_side=True)
    moved = _Counted(up, down)
    handshake = 0.0
    for _ in range(4):
        _step(asking.do_handshake)
        moved.count()
        handshake += _step(serving.do_handshake)
        moved.count()
    _step(lambda: asking.read(1))  # takes in the session tickets
    handshake_bytes, moved.bytes = moved.bytes, 0
    asking.write(bytes(REQUEST))
    moved.count()
    record = _step(lambda: serving.read(REQUEST)) + _step(lambda: serving.write(bytes(ANSWER)))
    moved.count()
    assert asking.read(ANSWER) == bytes(ANSWER)
    return 1e6 * handshake, 1e6 * record, handshake_bytes, moved.bytes - REQUEST - ANSWER


class _Counted:
    """Adds up what is on its way; each byte once, since either end reads all that is there."""

    def __init__(self, *ways: ssl.MemoryBIO) -> None:
        self.bytes = 0
        self._ways = ways
        self._seen = [0] * len(ways)

    def count(self) -> None:
        for place, way in enumerate(self._ways):
            self.bytes += max(way.pending - self._seen[place], 0)
            self._seen[place] = way.pending


def _step(action: Callable[[], object]) -> float:
    """Processor seconds of an action that may have to wait for the other end."""
    started = time.process_time()
    with suppress(ssl.SSLWantReadError):
        action()
    return time.process_time() - started


def _contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        pem = certificate.public_bytes(serialization.Encoding.PEM)
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        Path(file.name).write_bytes(pem + private)
        server.load_cert_chain(file.name)
    client = ssl.create_default_context(cadata=pem.decode())
    return server, client
