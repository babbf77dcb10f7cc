"""A certificate that no authority has signed, for https on a trial's own network."""

import os
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

DAYS = 90


def certificate_for(address: str, folder: Path) -> tuple[Path, Path]:
    """The files of a certificate for an IP address and of its key, kept in ``folder``.

    They are made anew for another address, and a week before they expire.
    """
    certificate, key = folder / "certificate.pem", folder / "certificate.key"
    if not (certificate.exists() and key.exists() and _serves(certificate, address)):
        _make(address, certificate, key)
    return certificate, key


def _serves(certificate: Path, address: str) -> bool:
    known = x509.load_pem_x509_certificate(certificate.read_bytes())
    names = known.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    in_a_week = datetime.now(UTC) + timedelta(days=7)
    named = names.get_values_for_type(x509.IPAddress)
    return ip_address(address) in named and known.not_valid_after_utc > in_a_week


def _make(address: str, certificate: Path, key: Path) -> None:
    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "privet pilot")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(secret.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=DAYS))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(secret, SHA256())
    )
    pem = secret.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with os.fdopen(os.open(key, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
        file.write(pem)
    certificate.write_bytes(made.public_bytes(Encoding.PEM))
