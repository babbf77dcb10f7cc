"""A curator's signature of a task: the bytes that are signed, and the header that carries it.

Ed25519 (RFC 8032) over a fixed prefix and the task's id, which is the SHA-256 of its canonical
bytes: neither the bytes nor the id change when a task is signed. Because of the prefix a signature
cannot be mistaken for one of anything else.
"""

import re
from dataclasses import dataclass

from .errors import InvalidRequest

PREFIX = b"privet task signature v1\x00"
SIGNATURE_PATTERN = "^ed25519 ([0-9a-f]{64}) ([0-9a-f]{128})$"
_KEY = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True)
class Signature:
    """A public key of 32 bytes, and 64 bytes that only its owner could make."""

    key: bytes
    value: bytes

    @property
    def header(self) -> str:
        """The value of the header ``Privet-Signature``."""
        return f"ed25519 {self.key.hex()} {self.value.hex()}"

    @classmethod
    def parse(cls, header: str) -> "Signature | None":
        """The signature in a header; None for anything else."""
        match = re.fullmatch(SIGNATURE_PATTERN, header)
        return match and cls(bytes.fromhex(match[1]), bytes.fromhex(match[2]))


def signed_message(task_id: str) -> bytes:
    """The bytes that a curator signs for the task ``task_id``."""
    return PREFIX + bytes.fromhex(task_id)


def parse_key(text: str) -> bytes:
    """A public key from its 64 hexadecimal digits; raises ``InvalidRequest``."""
    if not _KEY.fullmatch(text.strip()):
        raise InvalidRequest("A curator's key is 64 hexadecimal digits: copy it again, all of it.")
    return bytes.fromhex(text.strip())
