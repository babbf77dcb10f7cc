"""Registers: the disclosed columns of the people asked."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add a column to the public data."""
    people = "The people asked, encoded, without labels, as x is: float64, row by row; or null."
    op.add_column(
        "public_data", sa.Column("register", sa.LargeBinary(), nullable=True, comment=people)
    )
