"""Headers on all answers of an application, whatever part of it answers."""

from collections.abc import Sequence

from starlette.types import Message, Send

Headers = Sequence[tuple[bytes, bytes]]


def with_headers(send: Send, headers: Headers) -> Send:
    """``send``, but an answer also has those of ``headers`` whose names it does not have."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            added = [header for header in headers if header[0] not in present]
            message["headers"] = [*message["headers"], *added]
        await send(message)

    return send_with_headers
