"""Traffic of a load test: reports one by one or in batches."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from privet.intake.layout import ReportLayout
from privet.protocol.batch import ByteRows
from privet.protocol.calls import BATCH_MEDIA_TYPE, REPORT_MEDIA_TYPE
from privet.protocol.report import REPORT_ID_BYTES
from privet.protocol.task import Task
from scripts.load.holders import Shard
from scripts.load.sender import QueuedPost

AT_A_TIME = 4_096


@dataclass(frozen=True)
class Address:
    """The target of requests."""

    host: str
    port: int
    path: str
    token: str = ""
    """The token with which a curator takes batches."""

    def head(self, media_type: str, length: int) -> bytes:
        """The head of a request with a body of ``length`` bytes."""
        token = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
        return (
            f"POST {self.path} HTTP/1.1\r\n"
            f"Host: {self.host}:{self.port}\r\n"
            f"Content-Type: {media_type}\r\n{token}"
            f"Content-Length: {length}\r\n\r\n"
        ).encode()


def singles(shards: Iterable[Shard], task: Task, to: Address) -> Iterator[QueuedPost]:
    """One message per report, put together some thousand at a time."""
    for shard in shards:
        batch = shard.batch(task)
        for start in range(0, len(batch), AT_A_TIME):
            part = slice(start, start + AT_A_TIME)
            for request in requests(task, to, batch.ids[part], batch.payloads[part]):
                yield QueuedPost(request)


def batches(shards: Iterable[Shard], to: Address) -> Iterator[QueuedPost]:
    """A message per shard."""
    for shard in shards:
        body = shard.path.read_bytes()
        yield QueuedPost(to.head(BATCH_MEDIA_TYPE, len(body)) + body, shard.reports)


def requests(task: Task, to: Address, ids: ByteRows, payloads: ByteRows) -> Iterator[bytes]:
    """A whole request for each report with these ids and payloads, one report per row.

    Only their bytes differ from report to report of a task that asks one question.
    """
    layout = ReportLayout.of(task, (0,))
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
