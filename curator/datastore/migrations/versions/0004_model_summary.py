"""Store a summary with each model, so that listing models reads no documents.

A document was the model inside a map with its task and date, which the table has anyway; now it is
the model alone.
"""

import json

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

KEYS = "SELECT task_no, number FROM models ORDER BY task_no, number"
DOCUMENT = "SELECT document FROM models WHERE task_no = :task_no AND number = :number"
CHANGE = """
UPDATE models SET document = :document, summary = :summary
WHERE task_no = :task_no AND number = :number
"""


def upgrade() -> None:
    """Add the column, and fill it from the documents."""
    op.add_column(
        "models",
        sa.Column(
            "summary",
            sa.Text(),
            nullable=False,
            server_default="{}",
            comment="What lists of models show of it, as JSON.",
        ),
    )
    connection = op.get_bind()
    for row in connection.execute(sa.text(KEYS)).all():
        key = {"task_no": row.task_no, "number": row.number}
        model = json.loads(bytes(connection.scalar(sa.text(DOCUMENT), key)))["model"]
        summary = {
            "estimator": model["estimator"],
            "parameters": model["parameters"],
            "reports": model["n"],
            "cells": sum(feature < 0 for feature in model["partition"]["feature"]),
            "facts": model["facts"],
        }
        values = {"document": json.dumps(model).encode(), "summary": json.dumps(summary)}
        connection.execute(sa.text(CHANGE), {**key, **values})
