"""What goes over the wire in a load test: reports one by one or in batches, and some mischief."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from privet.curator.collection.task_cache import Layout
from privet.protocol.batch import BATCH_MEDIA_TYPE, ByteRows
from privet.protocol.report import REPORT_ID_BYTES, REPORT_MEDIA_TYPE
from privet.protocol.task import Task
from scripts.load.holders import Shard
from scripts.load.sender import HEAD_END, Message

DAWDLE_SECONDS = 2.0
CUT = 5
AT_A_TIME = 4_096


@dataclass(frozen=True)
class Address:
    """Where requests go."""

    host: str
    port: int
    path: str
    token: str = ""
    """What a curator takes batches with."""

    def head(self, media_type: str, length: int) -> bytes:
        """The head of a request with a body of ``length`` bytes."""
        token = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
        return (
            f"POST {self.path} HTTP/1.1\r\n"
            f"Host: {self.host}:{self.port}\r\n"
            f"Content-Type: {media_type}\r\n{token}"
            f"Content-Length: {length}\r\n\r\n"
        ).encode()


@dataclass(frozen=True)
class Mischief:
    """Shares of the holders, 0 to 1, that misbehave.

    They send twice, send rubbish too, send slowly, or hang up before the answer and try again.
    """

    duplicates: float = 0.0
    malformed: float = 0.0
    slow: float = 0.0
    retries: float = 0.0


def singles(
    shards: Iterable[Shard], task: Task, to: Address, mischief: Mischief, rng: random.Random
) -> Iterator[Message]:
    """One message per report, some twice, some after a broken copy, some slow or cut off."""
    plain = plain_requests(shards, task, to)
    if mischief == Mischief():
        yield from (Message("report", request) for request in plain)
        return
    for request in plain:
        if rng.random() < mischief.malformed:
            yield Message("malformed", _cut_short(request, to), 0)
        dawdle = DAWDLE_SECONDS if rng.random() < mischief.slow else 0.0
        hangs_up = not dawdle and rng.random() < mischief.retries
        yield Message("report", request, 1, dawdle, hangs_up)
        if rng.random() < mischief.duplicates:
            yield Message("duplicate", request, 0)


def plain_requests(shards: Iterable[Shard], task: Task, to: Address) -> Iterator[bytes]:
    """A whole request per report, put together some thousand at a time."""
    for shard in shards:
        batch = shard.batch(task)
        for start in range(0, len(batch), AT_A_TIME):
            part = slice(start, start + AT_A_TIME)
            yield from requests(task, to, batch.ids[part], batch.payloads[part])


def batches(shards: Iterable[Shard], to: Address) -> Iterator[Message]:
    """A message per shard."""
    for shard in shards:
        body = shard.path.read_bytes()
        yield Message("batch", to.head(BATCH_MEDIA_TYPE, len(body)) + body, shard.reports)


def requests(task: Task, to: Address, ids: ByteRows, payloads: ByteRows) -> Iterator[bytes]:
    """A whole request for each report with these ids and payloads, one report per row.

    Only their bytes differ from report to report of a task that asks one question.
    """
    layout = Layout.of(task, (0,))
    body = bytearray(layout.length)
    for start, stop, fixed in layout.fixed:
        body[start:stop] = fixed
    head = to.head(REPORT_MEDIA_TYPE, layout.length)
    rows = np.tile(np.frombuffer(head + body, dtype=np.uint8), (len(ids), 1))
    reports, (field,) = rows[:, len(head) :], layout.fields
    reports[:, layout.id_start : layout.id_start + REPORT_ID_BYTES] = ids
    reports[:, field.start : field.stop] = payloads
    packed, length = rows.tobytes(), rows.shape[1]
    for start in range(0, len(packed), length):
        yield packed[start : start + length]


def _cut_short(request: bytes, to: Address) -> bytes:
    """The request with its report's last bytes missing, and a head that agrees."""
    body = request.partition(HEAD_END)[2][:-CUT]
    return to.head(REPORT_MEDIA_TYPE, len(body)) + body
