"""What an answer is written through."""

from asyncio import AbstractEventLoop, Transport

MOST_HELD = 65_536
"""Bytes that are held back at most."""


class WholeWrites:
    """A transport that writes what one step of the event loop gives it all at once.

    uvicorn writes the head and the body of an answer apart. Each write is a call of the operating
    system and a packet, which cost more than all else that a small answer takes.
    """

    def __init__(self, transport: Transport, loop: AbstractEventLoop) -> None:
        self._transport = transport
        self._call_soon = loop.call_soon
        self._parts: list[bytes] = []
        self._held = 0
        self.abort = transport.abort
        self.get_extra_info = transport.get_extra_info
        self.is_closing = transport.is_closing
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading
        self.set_protocol = transport.set_protocol

    def write(self, data: bytes) -> None:
        """Write ``data`` at the end of this step, or now if much is waiting already."""
        if not self._parts:
            self._call_soon(self.flush)
        self._parts.append(data)
        self._held += len(data)
        if self._held > MOST_HELD:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting."""
        if self._parts:
            whole = b"".join(self._parts)
            self._parts.clear()
            self._held = 0
            self._transport.write(whole)

    def write_eof(self) -> None:
        """Say that nothing more comes, after everything has been written."""
        self.flush()
        self._transport.write_eof()

    def close(self) -> None:
        """Close after everything has been written."""
        self.flush()
        self._transport.close()
