"""Run deploy/nginx.conf on loopback, before other ports and with a certificate of its own."""

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from scripts.servers import free_port, wait_for_port

CONFIGURATION = Path(__file__).parents[1] / "deploy" / "nginx.conf"


class Proxy(NamedTuple):
    """Ports of a proxy."""

    curators: int
    relay: int
    plain: int


def free_ports() -> Proxy:
    return Proxy(free_port(), free_port(), free_port())


def certify(folder: Path, lasts: timedelta = timedelta(days=30)) -> None:
    """Make a self-signed certificate and its key for the proxy."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "curator.example")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + lasts)
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "certificate.pem").write_bytes(certificate)
    (folder / "key.pem").write_bytes(private)


@contextmanager
def running_proxy(
    folder: Path, curators: Sequence[int], relay: int, how: str, ports: Proxy | None = None
) -> Iterator[tuple[Proxy, subprocess.Popen[bytes]]]:
    """Start nginx with its configuration, but for ports, files and names; stop it at the end.

    ``curators`` and ``relay`` are the ports asked, ``how`` directives of how it runs. The
    certificate is the one in ``folder``, made where there is none. Raises ``RuntimeError`` if nginx
    refuses the configuration, or does not come up.
    """
    ports = ports or free_ports()
    if not (folder / "certificate.pem").exists():
        certify(folder)
    own = folder / "nginx.conf"
    own.write_text(_configuration(folder, curators, relay, ports), encoding="utf-8")
    command = ["nginx", "-c", str(own), "-e", "stderr"]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    if checked.returncode:
        raise RuntimeError(checked.stderr)
    with (
        (folder / "nginx.log").open("ab") as log,
        subprocess.Popen(
            [*command, "-g", f"daemon off; {how}"], stderr=log, start_new_session=True
        ) as server,
    ):
        try:
            for port in ports:
                wait_for_port(port, server)
            yield ports, server
        finally:
            server.terminate()


def _configuration(folder: Path, curators: Sequence[int], relay: int, ports: Proxy) -> str:
    text = CONFIGURATION.read_text(encoding="utf-8")
    text = text.replace("/tmp/", f"{folder}/").replace("/run/privet/tls", str(folder))
    text = text.replace("http://relay:8100", f"http://127.0.0.1:{relay}")
    text = text.replace("http://curator:8000", "http://several")
    servers = " ".join(f"server 127.0.0.1:{port};" for port in curators)
    text = text.replace("http {", f"http {{ upstream several {{ {servers} }}", 1)
    for port, free in zip((8443, 8444, 8080), ports, strict=True):
        text = re.sub(rf"listen {port}\b", f"listen 127.0.0.1:{free}", text)
    return text
