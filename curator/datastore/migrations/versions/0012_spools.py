"""The spool that a relay spoke of, so that one that is gone, or a database put back, is seen."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add columns to what relays said last; of earlier words nothing more is known."""
    _add("spool", sa.String(8), "", "Random name of the relay's spool; empty if it did not say.")
    _add("delivered", sa.BigInteger(), "0", "Reports of that spool that it says were counted.")
    _add("before", sa.Text(), "{}", "Reports lost with or by spools before, by reason, JSON.")


def _add(name: str, kind: sa.types.TypeEngine[Any], default: str, comment: str) -> None:
    column = sa.Column(name, kind, nullable=False, server_default=default, comment=comment)
    op.add_column("held", column)
