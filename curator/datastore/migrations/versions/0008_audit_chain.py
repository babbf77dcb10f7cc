"""Hashes that make the audit log a chain.

The entries that are there are taken as they are: what was changed before is not noticed.
"""

import json
from hashlib import sha256

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

ENTRIES = sa.text("SELECT no, at, actor, action, subject, detail, times FROM audit ORDER BY no")
CHANGE = sa.text("UPDATE audit SET hash = :hash WHERE no = :no")
NOTE = sa.text("INSERT INTO facts (name, value) VALUES ('audit_head', :head)")


def upgrade() -> None:
    """Add the column; chain the entries that are there."""
    op.add_column(
        "audit",
        sa.Column(
            "hash",
            sa.String(64),
            nullable=False,
            server_default=sa.text("''"),
            comment="SHA-256 over the entry and the hash before it, in hexadecimal.",
        ),
    )
    connection = op.get_bind()
    before, times, head = "0" * 64, 0, None
    for row in connection.execute(ENTRIES).all():
        own = [row.no, row.at, row.actor, row.action, row.subject, row.detail]
        before = sha256(json.dumps([before, times, *own]).encode()).hexdigest()
        connection.execute(CHANGE, {"no": row.no, "hash": before})
        times, head = row.times, f"{row.no}:{before}"
    if head is not None:
        connection.execute(NOTE, {"head": head})
