"""What goes over the wire in a load test: reports one by one or in batches, and some mischief."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.protocol.batch import BATCH_MEDIA_TYPE, Rows
from privet.protocol.report import REPORT_MEDIA_TYPE, Report
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
    requests = plain_requests(shards, task, to)
    if mischief == Mischief():
        yield from (Message("report", request) for request in requests)
        return
    for request in requests:
        if rng.random() < mischief.malformed:
            yield Message("malformed", _cut_short(request, to), 0)
        dawdle = DAWDLE_SECONDS if rng.random() < mischief.slow else 0.0
        hangs_up = not dawdle and rng.random() < mischief.retries
        yield Message("report", request, 1, dawdle, hangs_up)
        if rng.random() < mischief.duplicates:
            yield Message("duplicate", request, 0)


def plain_requests(shards: Iterable[Shard], task: Task, to: Address) -> Iterator[bytes]:
    """A whole request per report, put together some thousand at a time."""
    template = Template.of(task, to)
    for shard in shards:
        batch = shard.batch(task)
        for start in range(0, len(batch), AT_A_TIME):
            part = slice(start, start + AT_A_TIME)
            yield from template.filled(batch.ids[part], batch.payloads[part])


def batches(shards: Iterable[Shard], to: Address) -> Iterator[Message]:
    """A message per shard."""
    for shard in shards:
        body = shard.path.read_bytes()
        yield Message("batch", to.head(BATCH_MEDIA_TYPE, len(body)) + body, shard.reports)


@dataclass(frozen=True, eq=False)
class Template:
    """A request whose id and payloads are still to be filled in: always at the same bytes."""

    request: Rows
    id: NDArray[np.intp]
    payloads: NDArray[np.intp]

    @classmethod
    def of(cls, task: Task, to: Address) -> "Template":
        """Found by packing probes that differ in their ids, or in their payloads, alone."""

        def probe(id_byte: bytes, payload_byte: bytes) -> Rows:
            answers = ((0, payload_byte * task.mechanisms[0].report_bytes),)
            body = Report(task=bytes.fromhex(task.id), id=id_byte * 16, answers=answers).pack()
            return np.frombuffer(to.head(REPORT_MEDIA_TYPE, len(body)) + body, dtype=np.uint8)

        plain = probe(b"\0", b"\0")
        ids = np.flatnonzero(plain != probe(b"\1", b"\0"))
        return cls(plain, ids, np.flatnonzero(plain != probe(b"\0", b"\1")))

    def filled(self, ids: Rows, payloads: Rows) -> Iterator[bytes]:
        """One request per row."""
        requests = np.tile(self.request, (len(ids), 1))
        requests[:, self.id] = ids
        requests[:, self.payloads] = payloads
        packed, length = requests.tobytes(), len(self.request)
        for start in range(0, len(packed), length):
            yield packed[start : start + length]


def _cut_short(request: bytes, to: Address) -> bytes:
    """The request with its report's last bytes missing, and a head that agrees."""
    body = request.partition(HEAD_END)[2][:-CUT]
    return to.head(REPORT_MEDIA_TYPE, len(body)) + body
