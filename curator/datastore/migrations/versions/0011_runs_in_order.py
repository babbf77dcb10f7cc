"""The order in which runs of report ids become known; its programs called it 0011 too."""

import sqlalchemy as sa
from alembic import op

revision = "0011_runs"
down_revision = "0010"


def upgrade() -> None:
    """Add a column to the list of runs."""
    place = "Place in the order in which the task's runs became known."
    op.add_column(
        "id_runs",
        sa.Column("place", sa.Integer(), nullable=False, server_default="0", comment=place),
    )
    op.execute("UPDATE id_runs SET place = run")
