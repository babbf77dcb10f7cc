"""Store an admin's public model with the public data."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column; tasks that are there came with no model."""
    op.add_column(
        "public_data",
        sa.Column(
            "onnx",
            sa.LargeBinary(),
            nullable=True,
            comment="The public model that came with them, an ONNX file, or null.",
        ),
    )
