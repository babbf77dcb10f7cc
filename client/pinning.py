"""Verification of a curator's signatures against a pinned key."""

from privet.http_client.report_client import Offer
from privet.protocol.installing import install_command
from privet.protocol.receipts import SignedReceipt, hash_of, receipt_message
from privet.protocol.report import Report
from privet.protocol.signature import Signature, parse_key, signed_message

from .errors import HolderError, TaskRefused


def check_key(offer: Offer, pinned: str) -> None:
    """Raise ``TaskRefused`` unless the task is signed with the key ``pinned``, in hexadecimal.

    ``InvalidRequest`` if that is no key, and ``HolderError`` if the package that checks
    signatures is not installed.
    """
    key = parse_key(pinned)
    if offer.signature is None:
        raise TaskRefused(
            f"The task is not signed, and you pinned the curator's key {key.hex()}: do not "
            "answer it, and ask the person who gave you the key."
        )
    if not _is_valid(Signature(key, offer.signature.value), signed_message(offer.task.id)):
        raise TaskRefused(
            f"The task is not signed with the curator's key {key.hex()} that you pinned (it "
            f"came with {offer.signature.key.hex()}): do not answer it, and ask the person who "
            "gave you the key."
        )


def signed_by(offer: Offer, pinned: str | None = None) -> str:
    """The signer of the task, in words; ``pinned`` has been checked before."""
    if offer.signature is None:
        return "Nobody: this curator does not sign its tasks."
    key = offer.signature.key.hex()
    if pinned is not None:
        return f"The key that you pinned, {parse_key(pinned).hex()}."
    try:
        valid = _is_valid(offer.signature, signed_message(offer.task.id))
    except HolderError:
        return f"Unverified, it names the key {key}. To verify it, {install_command('pinned')}."
    if not valid:
        return f"Nobody: its signature does not match the key {key} that came with it."
    return f"The key {key}. To take tasks from this curator only, pin it with --curator-key."


def shows_counted(receipt: SignedReceipt, report: bytes, pinned: str) -> bool:
    """True if ``pinned`` has signed that the report of these bytes counts."""
    counted, hashes = Report.unpack(report), [bytes.fromhex(each) for each in receipt.reports]
    signature = Signature(parse_key(pinned), bytes.fromhex(receipt.signature))
    message = receipt_message(counted.task.hex(), hashes)
    return hash_of(counted) in hashes and _is_valid(signature, message)


def _is_valid(signature: Signature, message: bytes) -> bool:
    """True if the owner of the signature's key made it for the message."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        raise HolderError(
            "Checking a curator's key needs a package that is not installed: "
            f"{install_command('pinned')}. Nothing was drawn and nothing was sent."
        ) from None
    try:
        key = Ed25519PublicKey.from_public_bytes(signature.key)
        key.verify(signature.value, message)
    except (InvalidSignature, ValueError):
        return False
    return True
