"""Write tests/vectors/signatures.json: what a curator's key signs, and what a pinned key refuses.

A good case has the ``secret`` key, the ``task``'s id, the public ``key`` and the ``header`` that
follow; a bad one a header that a holder who pinned ``key`` must refuse. Run ``python -m
scripts.make_signature_vectors`` after a change that is meant to change bytes, and no other time.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from privet.protocol.signature import Signature, signed_message

FILE = Path(__file__).parent.parent / "tests" / "vectors" / "signatures.json"
TASK, OTHER = (hashlib.sha256(f"task {i}".encode()).hexdigest() for i in range(2))


def build() -> list[dict[str, Any]]:
    """The header that a curator sends with a task, and those that a holder must refuse."""
    secrets = [hashlib.sha256(f"curator {i}".encode()).digest() for i in range(2)]
    ours, theirs = (Ed25519PrivateKey.from_private_bytes(secret) for secret in secrets)
    key = ours.public_key().public_bytes_raw()
    message = signed_message(TASK)
    good = Signature(key, ours.sign(message)).header
    flipped = bytes([good.encode()[-1] ^ 1]).decode()
    headers = {
        "another task's": Signature(key, ours.sign(signed_message(OTHER))).header,
        "another key's": Signature(
            theirs.public_key().public_bytes_raw(), theirs.sign(message)
        ).header,
        "another key's, under the pinned one": Signature(key, theirs.sign(message)).header,
        "without the prefix": Signature(key, ours.sign(bytes.fromhex(TASK))).header,
        "of the id as text": Signature(key, ours.sign(message[:-32] + TASK.encode())).header,
        "one digit changed": good[:-1] + flipped,
        "cut short": good[:-2],
        "another algorithm": good.replace("ed25519", "ed448"),
        "empty": "",
    }
    case = {"task": TASK, "key": key.hex()}
    return [
        {"name": "good", "success": True, **case, "secret": secrets[0].hex(), "header": good},
        *({"name": n, "success": False, **case, "header": h} for n, h in headers.items()),
    ]


def main() -> None:
    """Write the file."""
    FILE.write_text(json.dumps(build(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
