"""A code to keep of a subject's part in a panel: the panel, the wave that was drawn, the first wave
that its lifetime covers, and which waves were answered; nothing of an answer.

It is a secret of its person, who may take it to another device or browser:
``holder-js/src/code.js`` writes and reads the same. docs/holder.md has its bytes.
"""

import hashlib
import re
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

from privet.protocol.errors import InvalidRequest
from privet.protocol.panel import Panel

START = "privet1."
FORM = re.compile(rf"{re.escape(START)}([A-Za-z0-9_-]{{64}})(?![A-Za-z0-9_-])")
BODY = struct.Struct(">32sBBQ")
CHECK_BYTES = 6
BITS = 64


@dataclass(frozen=True)
class Part:
    """A part in a panel, as its code states it."""

    wave: int | None
    """The number of the wave that was drawn, from 0; None if all are answered."""
    first: int
    """The number of the first wave that the lifetime covers, from 0; 0 where holders rotate."""
    answered: tuple[int, ...]
    """The numbers of the waves that were answered."""


def write_code(panel: str, part: Part) -> str:
    """The code of a part in the panel of this id: 72 characters, whatever was answered."""
    turn = 0 if part.wave is None else part.wave + 1
    answered = sum(1 << number for number in part.answered)
    body = BODY.pack(bytes.fromhex(panel), turn, part.first, answered)
    return START + urlsafe_b64encode(body + _check(body)).decode()


def read_code(text: str, id: str, panel: Panel) -> Part:  # noqa: A002 - the panel's
    """The part that the code in ``text`` is of; raises ``InvalidRequest`` if there is no whole code
    of this panel."""
    found = FORM.search(text)
    data = b"" if found is None else urlsafe_b64decode(found[1])
    body, check = data[: BODY.size], data[BODY.size :]
    if found is None or check != _check(body):
        raise InvalidRequest(DAMAGED)
    of, turn, first, mask = BODY.unpack(body)
    if of.hex() != id:
        raise InvalidRequest("This code is of another panel. Nothing was changed.")
    answered = tuple(number for number in range(BITS) if mask >> number & 1)
    total, is_drawn = len(panel.waves), panel.mode == "rotate"
    fits = (1 <= turn <= total and first == 0) if is_drawn else (turn == 0 and first < total)
    coming = {turn - 1} if is_drawn else set(range(first, total))
    if not fits or not coming.issuperset(answered):
        raise InvalidRequest(DAMAGED)
    return Part(turn - 1 if is_drawn else None, first, answered)


DAMAGED = "This is no whole code of a panel: give all of it. Nothing was changed."


def _check(body: bytes) -> bytes:
    """The check by which a mistyped code is seen."""
    return hashlib.sha256(body).digest()[:CHECK_BYTES]
