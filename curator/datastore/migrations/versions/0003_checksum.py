"""The checksum of report ids becomes the sum of their 64-bit halves; it was the XOR of SHA-256.

Ids do not say in which bucket they were counted, so the new checksums of single buckets cannot be
worked out. The first bucket of each task gets the sum over all its ids, which is what ``privet
verify`` compares with, and every other bucket gets 0. Tasks whose ids are gone get 0 throughout.
"""

import numpy as np
import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

TASKS = "SELECT no FROM tasks WHERE NOT ids_gone ORDER BY no"
FIRST_BUCKET = """
UPDATE buckets SET checksum = :checksum WHERE task_no = :task_no
AND starts = (SELECT min(starts) FROM buckets WHERE task_no = :task_no)
AND curator = (SELECT min(curator) FROM buckets WHERE task_no = :task_no AND starts = (
    SELECT min(starts) FROM buckets WHERE task_no = :task_no))
"""
SOURCES = (
    "SELECT id FROM report_ids WHERE task_no = :task_no",
    "SELECT ids FROM id_pages WHERE task_no = :task_no",
)

AT_ONCE = 10_000


def upgrade() -> None:
    """Compute the sums anew from the ids that are there."""
    connection = op.get_bind()
    connection.execute(sa.text("UPDATE buckets SET checksum = :zero"), {"zero": bytes(8)})
    for task_no in list(connection.scalars(sa.text(TASKS))):
        total = 0
        for source in SOURCES:
            ids = connection.execute(
                sa.text(source), {"task_no": task_no}, execution_options={"yield_per": AT_ONCE}
            )
            for part in ids.scalars().partitions():
                halves = np.frombuffer(b"".join(map(bytes, part)), dtype=">u8")
                total = (total + int(halves.sum(dtype=np.uint64))) % 2**64
        values = {"checksum": total.to_bytes(8, "big"), "task_no": task_no}
        connection.execute(sa.text(FIRST_BUCKET), values)
    if connection.dialect.name == "postgresql":
        op.alter_column(
            "buckets",
            "checksum",
            comment="Sum of the 64-bit halves of their ids modulo 2^64, 8 bytes, big-endian.",
        )
