"""Reading sums and counts out, over all buckets and curators."""

from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection, select

from privet.curator.datastore import schema
from privet.curator.datastore.base import Bucket, QuestionSums, Status
from privet.curator.datastore.checksum import EMPTY, combine
from privet.curator.datastore.rows import vector_of


def read_sums(connection: Connection, task_no: int, sizes: Sequence[int]) -> list[QuestionSums]:
    """The sums of every question, over all buckets and curators, in one read."""
    totals = [QuestionSums(np.zeros(size, dtype=np.int64), 0) for size in sizes]
    for row in connection.execute(select(schema.sums).where(schema.sums.c.task_no == task_no)):
        old = totals[row.question]
        totals[row.question] = QuestionSums(old.vector + vector_of(row.vector), old.n + row.n)
    return totals


def read_status(connection: Connection, task_no: int, questions: int) -> Status:
    """Counts, checksums and rejects of one task."""
    table = schema.buckets
    buckets: dict[int, Bucket] = {}
    total = EMPTY
    for row in connection.execute(select(table).where(table.c.task_no == task_no)):
        old = buckets.get(row.starts, Bucket(row.starts, 0, EMPTY.hex()))
        both = combine(bytes.fromhex(old.checksum), row.checksum)
        buckets[row.starts] = Bucket(row.starts, old.reports + row.reports, both.hex())
        total = combine(total, row.checksum)
    answers = [0] * questions
    sums, rejects = schema.sums, schema.rejects
    for question, n in connection.execute(
        select(sums.c.question, sums.c.n).where(sums.c.task_no == task_no)
    ):
        answers[question] += n
    refused = connection.execute(
        select(rejects.c.reason, rejects.c.count).where(rejects.c.task_no == task_no)
    )
    return Status(
        reports=sum(bucket.reports for bucket in buckets.values()),
        answers=tuple(answers),
        checksum=total.hex(),
        buckets=tuple(buckets[starts] for starts in sorted(buckets)),
        rejects=dict(iter(refused)),
    )
