"""The curator's signing key, by which holders recognize the tasks of their curator.

The key is a file of its own, in PEM (PKCS #8), which only its owner may read. It is not in the
database, so a reader of the database or of a backup cannot sign.
"""

import os
import tempfile
from collections.abc import Collection
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from sqlalchemy import make_url

from privet.protocol.errors import PrivetError
from privet.protocol.receipts import groups_of, receipt_message
from privet.protocol.signature import Signature, signed_message

from ..datastore.audit import SIGNING_KEY
from ..datastore.store import Store
from ..settings import Settings
from .audit import NOBODY, Audit

TASKS_KEPT = 1024
NEW_KEY = (
    "If it is lost, start once with --new-signing-key: holders who pinned the old key then refuse."
)


class Signer:
    """Signs tasks with one key."""

    def __init__(self, secret: Ed25519PrivateKey) -> None:
        self._secret = secret
        self.key = secret.public_key().public_bytes_raw()
        self.sign = lru_cache(TASKS_KEPT)(self._sign)

    def _sign(self, task_id: str) -> Signature:
        """The signature of a task; ``sign`` caches it."""
        return Signature(self.key, self._secret.sign(signed_message(task_id)))

    def receipts(self, task_id: str, hashes: Collection[bytes]) -> list[str]:
        """The signatures of reports that count, one for each of ``receipts.groups_of``."""
        messages = (receipt_message(task_id, group) for group in groups_of(hashes))
        return [self._secret.sign(message).hex() for message in messages]


def signer_for(settings: Settings, known: str = "") -> Signer | None:
    """The signer that the settings ask for; None where tasks are not signed.

    ``known`` is the public key in hexadecimal that the database's tasks were signed with so far.

    A SQLite database has its key in the same folder, made at the first start. Curators that share
    another database share a key file that ``settings.signing_key`` names; it is never made here,
    since each would then make its own. Raises ``PrivetError`` for a key that cannot be read or
    made, and, without ``settings.new_signing_key``, for another than the known one, or none.
    """
    signer = _signer_for(settings, known)
    key = "" if signer is None else signer.key.hex()
    if known and key != known and not settings.new_signing_key:
        what = f"this curator would sign with {key}" if key else "this curator has no key"
        raise PrivetError(
            f"The database's tasks are signed with the key {known}, and {what}: give that key's "
            f"file with --signing-key. {NEW_KEY}"
        )
    return signer


def record_signing_key(store: Store, audit: Audit, known: str, signer: Signer | None) -> None:
    """Note which key signs from now on, if it is another than the ``known`` one."""
    key = "" if signer is None else signer.key.hex()
    if key != known:
        store.facts.set(SIGNING_KEY, key)
        action = "rotated" if key and known else "set" if key else "given up"
        audit.add_entry(NOBODY, f"signing key {action}", key, before=known)


def _signer_for(settings: Settings, known: str) -> Signer | None:
    if settings.signing_key:
        try:
            return read_key(Path(settings.signing_key))
        except PrivetError as error:
            raise PrivetError(f"PRIVET_SIGNING_KEY: {error.detail}") from None
    url = make_url(settings.database)
    if url.get_backend_name() != "sqlite" or not url.database:
        return None
    path = Path(f"{url.database}.key")
    if known and not path.exists() and not settings.new_signing_key:
        raise PrivetError(
            f"The database's tasks are signed with the key {known}, and there is no key at {path}: "
            f"copy it there. {NEW_KEY}"
        )
    if not path.exists():  # a full disk keeps nobody from a key that is there
        with suppress(FileExistsError):
            make_key(path)
    return read_key(path)


def read_key(path: Path) -> Signer:
    """The signer of a key file; raises ``PrivetError`` if there is no key in it."""
    try:
        secret = load_pem_private_key(path.read_bytes(), password=None)
    except FileNotFoundError:
        raise PrivetError(
            f"There is no key at {path}: make one with 'privet key make {path}', and give every "
            "curator of the database a copy."
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise PrivetError(f"The key at {path} cannot be read ({error}): restore it.") from None
    if not isinstance(secret, Ed25519PrivateKey):
        raise PrivetError(f"The key at {path} is not an Ed25519 key: give another file.")
    return Signer(secret)


def make_key(path: Path) -> None:
    """Make a key at ``path``, mode 0600, whole or not at all.

    Raises ``FileExistsError`` if there is one, however many start at once, and ``PrivetError`` if
    it cannot be written.
    """
    secret = Ed25519PrivateKey.generate()
    pem = secret.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
            os.link(file.name, path)
    except FileExistsError:
        raise
    except OSError as error:
        raise PrivetError(
            f"The key {path} cannot be made ({error.strerror}): choose a folder that the curator "
            "may write, with --signing-key."
        ) from None
