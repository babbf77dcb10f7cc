"""The tables of the first release, which ``schema`` declares.

Whoever changes a table there first writes down here what it was: a migration makes the same tables
for ever (``test_the_first_tables_stay``).
"""

from alembic import op

from privet.curator.datastore.schema import metadata

revision = "0008"
down_revision = None


def upgrade() -> None:
    """Create every table."""
    metadata.create_all(op.get_bind(), checkfirst=False)
