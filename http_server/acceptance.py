"""Content types and size limits of uploads, shared by curator and relay.

A body may come without a content type, as browsers send a report to avoid a preflight.
"""

from starlette.types import Receive

from privet.protocol.errors import UnsupportedMediaType

from .bodies import PLAIN, Head, MemoryShare, compressed, read_body

BODY_SECONDS = 30.0
"""Time within which a body must have arrived."""


async def read_typed(
    receive: Receive,
    head: Head,
    media_type: str,
    *,
    limit: int,
    share: MemoryShare,
) -> bytes:
    """A body of this content type, or of none.

    Raises ``UnsupportedMediaType``, and what ``read_body`` raises.
    """
    if head.media_type and head.media_type != media_type.encode():
        raise UnsupportedMediaType(
            f"Send this as {media_type}, not as {head.media_type[:100].decode('latin-1')}."
        )
    if head.encoding not in PLAIN:
        raise compressed(head)
    return await read_body(receive, head, limit=limit, seconds=BODY_SECONDS, share=share)
