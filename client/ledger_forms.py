"""The tables of a ledger's file: today's, those that older programs made, and their upgrade.

What older programs made is stated as they stated it, not in terms of today's tables, which may
change: ``tests/past`` has files that they wrote.
"""

import json
import sqlite3
from collections.abc import Iterator

from privet.protocol.limits import DISCLOSED_CAP
from privet.sqlite_files import Made

SCHEMA_VERSION = 7
ANSWERS = """
CREATE TABLE answers (
    subject   TEXT    NOT NULL,  -- whom the record is about, as the holder names them
    task      TEXT    NOT NULL,  -- the task's id, 64 hexadecimal digits
    url       TEXT    NOT NULL,  -- where the task was found, or where the answer was taken
    epsilon   REAL    NOT NULL,  -- what the answer costs
    report_id TEXT    NOT NULL,  -- the report's id, 32 hexadecimal digits
    report    BLOB    NOT NULL,  -- the bytes that are sent, perturbed already
    drawn     REAL    NOT NULL,  -- when they were drawn, Unix time
    invitation TEXT,             -- sent only to that address
    state     TEXT    NOT NULL,  -- drawn, held, counted, refused or lost
    reason    TEXT,              -- why it was refused, or what the last attempt ended in
    disclosed TEXT NOT NULL DEFAULT '',  -- what it discloses, in words
    panel     TEXT NOT NULL DEFAULT '',  -- the id of the panel whose wave the task is
    PRIMARY KEY (subject, task)
) STRICT
"""
CAPS = f"""
CREATE TABLE caps (
    subject   TEXT PRIMARY KEY,
    task      REAL NOT NULL,  -- the most epsilon for one task
    year      REAL NOT NULL,  -- and for all tasks within 365 days
    disclosed REAL NOT NULL DEFAULT {DISCLOSED_CAP}  -- the most bits disclosed within 365 days
) STRICT
"""
SPLITS = """
CREATE TABLE splits (
    task   TEXT PRIMARY KEY,
    tree   TEXT    NOT NULL,  -- a digest of the tree of disclosed splits
    strata INTEGER NOT NULL,
    cuts   TEXT    NOT NULL   -- JSON: by the digest of a column, the cuts through it
) STRICT
"""
MEMBERS = """
CREATE TABLE members (
    subject  TEXT NOT NULL,
    panel    TEXT NOT NULL,  -- the panel's id
    wave     INTEGER,        -- the wave that the subject's device drew; null if it answers all
    lifetime REAL NOT NULL,  -- what all its answers cost
    closes   REAL NOT NULL,  -- end of the last wave, until which that is kept
    PRIMARY KEY (subject, panel)
) STRICT
"""
BY_DATE = "CREATE INDEX answers_by_date ON answers (drawn)"
NEW: Made = (ANSWERS, CAPS, SPLITS, BY_DATE, MEMBERS)

OLD_CAPS = "CREATE TABLE caps (subject TEXT PRIMARY KEY, task REAL NOT NULL, year REAL NOT NULL)"
MADE_4: Made = (
    """
    CREATE TABLE answers (
        subject TEXT NOT NULL, task TEXT NOT NULL, url TEXT NOT NULL, epsilon REAL NOT NULL,
        report_id TEXT NOT NULL, report BLOB NOT NULL, drawn REAL NOT NULL, invitation TEXT,
        state TEXT NOT NULL, reason TEXT, PRIMARY KEY (subject, task)
    ) STRICT
    """,
    f"{OLD_CAPS} STRICT",
)
MADE_4_OF_1: Made = (
    """
    CREATE TABLE answers (
        subject TEXT NOT NULL, task TEXT NOT NULL, url TEXT NOT NULL, epsilon REAL NOT NULL,
        report_id TEXT NOT NULL, report BLOB NOT NULL, drawn REAL NOT NULL, invitation TEXT,
        reason TEXT, state TEXT NOT NULL DEFAULT 'drawn', PRIMARY KEY (subject, task)
    ) STRICT
    """,
    f"{OLD_CAPS} STRICT",
)
"""The tables of a file of version 1 that a program of version 4 upgraded."""
UNINVITED: Made = ("ALTER TABLE answers DROP COLUMN invitation",)
"""The first programs of version 1 did not make the column, nor did an upgrade add it."""
IN_WORDS: Made = ("ALTER TABLE answers ADD COLUMN shown TEXT NOT NULL DEFAULT ''",)
DISCLOSED: Made = ("ALTER TABLE answers ADD COLUMN disclosed TEXT NOT NULL DEFAULT ''",)
"""The same column by its later name: programs of version 5 made either."""
ADDED_6: Made = (
    "ALTER TABLE caps ADD COLUMN disclosed REAL NOT NULL DEFAULT 32.0",
    "CREATE TABLE splits (task TEXT PRIMARY KEY, tree TEXT NOT NULL, strata INTEGER NOT NULL, "
    "cuts TEXT NOT NULL) STRICT",
    "CREATE INDEX answers_by_date ON answers (drawn)",
)
ALL_4 = (MADE_4, MADE_4_OF_1, (*MADE_4_OF_1, *UNINVITED))
MADE: dict[int, tuple[Made, ...]] = {
    0: ((),),
    4: ALL_4,
    5: tuple((*made, *column) for made in ALL_4 for column in (IN_WORDS, DISCLOSED)),
    6: tuple((*made, *DISCLOSED, *ADDED_6) for made in ALL_4),
    SCHEMA_VERSION: (NEW,),
}
"""Version -> the ways in which programs have made a file of it; version 0 is an empty file."""

DISCLOSED_CAPS = f"ALTER TABLE caps ADD COLUMN disclosed REAL NOT NULL DEFAULT {DISCLOSED_CAP}"
TODAY = {"shown": "disclosed"}
"""Older name of a column -> its name today."""
VERSION_NOTED = f"PRAGMA user_version = {SCHEMA_VERSION}"
UNKNOWN_STRATA = 64
"""Strata that a task of an older ledger is taken to have, which did not keep them."""
UNKNOWN_SPLITS = f"""
INSERT INTO splits
SELECT DISTINCT task, task, {UNKNOWN_STRATA},
    '{{"' || task || '": {json.dumps([str(cut) for cut in range(1, UNKNOWN_STRATA)])}}}'
FROM answers WHERE disclosed <> ''
"""  # noqa: S608 - constants


def upgrade_tables(db: sqlite3.Connection, version: int) -> None:
    """Bring a file of an older version, or an empty one, to today's tables, every row as it was.

    The caller has checked the file's structure, and its transaction holds all of this.
    """
    for statement in (*(_rebuilding(db, version) if version else NEW), VERSION_NOTED):
        db.execute(statement)


def _rebuilding(db: sqlite3.Connection, version: int) -> Iterator[str]:
    """The statements that upgrade a file; its answers go into a table made anew, since their
    columns are not always declared as they are today."""
    columns = [name for (name,) in db.execute("SELECT name FROM pragma_table_info('answers')")]
    kept, today = ", ".join(columns), ", ".join(TODAY.get(name, name) for name in columns)
    yield "ALTER TABLE answers RENAME TO older"
    yield ANSWERS
    yield f"INSERT INTO answers (rowid, {today}) SELECT rowid, {kept} FROM older"  # noqa: S608
    yield "DROP TABLE older"
    yield BY_DATE
    if version < 6:
        yield from (DISCLOSED_CAPS, SPLITS, UNKNOWN_SPLITS)
    yield MEMBERS
