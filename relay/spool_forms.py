"""The tables of a spool's file: today's, those that older programs made, and their upgrade.

What older programs made is stated as they stated it, not in terms of today's tables, which may
change: ``tests/past`` has files that they wrote.
"""

import sqlite3

from privet.protocol.batch import split
from privet.protocol.report import REPORT_ID_BYTES
from privet.sqlite_files import Made

from . import batches, outcomes
from .outcomes import key_of_report

SPOOL_VERSION = 8
QUEUES = """
CREATE TABLE queues (
    number    INTEGER PRIMARY KEY,  -- random
    task      TEXT    NOT NULL,     -- the task's id
    questions TEXT    NOT NULL,     -- the numbers of the questions, with commas between
    width     INTEGER NOT NULL,     -- bytes of a payload
    reports   INTEGER NOT NULL,     -- how many wait there
    UNIQUE (task, questions)
) STRICT
"""
WAITING = """
CREATE TABLE waiting (
    queue      INTEGER NOT NULL,  -- the number of its task and the questions it answers
    id         BLOB    NOT NULL,  -- the report's 16 random bytes
    payload    BLOB    NOT NULL,  -- the payloads of its answers, one after the other
    invitation BLOB,              -- SHA-256 of its invitation, if it came with one
    PRIMARY KEY (queue, id)
) STRICT, WITHOUT ROWID
"""
BATCHES = """
CREATE TABLE batches (
    number      INTEGER PRIMARY KEY,  -- random
    sealed      INTEGER NOT NULL,     -- 1 if these reports, in this order, are what goes out
    task        TEXT    NOT NULL,
    questions   TEXT    NOT NULL,
    reports     INTEGER NOT NULL,     -- how many the columns hold
    ids         BLOB    NOT NULL,
    payloads    BLOB    NOT NULL,
    invitations BLOB                  -- 32 bytes each, until the curator has said which it takes
) STRICT
"""
ADMISSIONS = """
CREATE TABLE admissions (
    id          BLOB PRIMARY KEY,     -- 16 random bytes
    batch       INTEGER NOT NULL,     -- the batch that names it
    invitations BLOB    NOT NULL      -- those it lets in, ascending
) STRICT, WITHOUT ROWID
"""
TALLIES = """
CREATE TABLE tallies (
    task TEXT    NOT NULL,
    name TEXT    NOT NULL,        -- counted, replayed, smallest_batch, or why it was refused
    n    INTEGER NOT NULL,
    PRIMARY KEY (task, name)
) STRICT, WITHOUT ROWID
"""
STATES = """
CREATE TABLE states (
    key    BLOB PRIMARY KEY, -- a hash of task and id of a report that waits no longer
    digest BLOB NOT NULL,    -- a hash of its id and its answers
    state  TEXT,             -- why it was refused, counted; null: as its batch says, else held
    day    INTEGER,          -- the UTC day on which that became known, in days since 1970
    sent   INTEGER NOT NULL  -- the number of the batch in which it goes out; else 0
) STRICT, WITHOUT ROWID
"""
DEPARTED = """
CREATE TABLE departed (
    batch INTEGER PRIMARY KEY, -- the number of a batch that has gone out
    state TEXT    NOT NULL,    -- held: in a file; counted; or why all of it was refused
    day   INTEGER NOT NULL     -- the UTC day on which that became known
) STRICT
"""
RECEIPTS = """
CREATE TABLE receipts (
    batch     INTEGER NOT NULL,
    hashes    BLOB    NOT NULL,  -- 32 bytes each, ascending, of reports that count
    signature TEXT    NOT NULL,  -- the curator's
    day       INTEGER NOT NULL,
    PRIMARY KEY (batch, hashes)
) STRICT, WITHOUT ROWID
"""
FILES = """
CREATE TABLE files (
    batch   INTEGER PRIMARY KEY, -- the number of a batch that was written as a file
    task    TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    reports INTEGER NOT NULL,
    counts  TEXT    NOT NULL,    -- what became of them by the tallies, JSON
    day     INTEGER NOT NULL     -- the UTC day on which it was written
) STRICT
"""
NEW: Made = (QUEUES, WAITING, BATCHES, ADMISSIONS, TALLIES, STATES, DEPARTED, RECEIPTS, FILES)

MADE_5: Made = (
    """
    CREATE TABLE waiting (
        task TEXT NOT NULL, questions TEXT NOT NULL, id BLOB NOT NULL, payload BLOB NOT NULL,
        invitation BLOB, PRIMARY KEY (task, questions, id)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE batches (
        number INTEGER PRIMARY KEY, sealed INTEGER NOT NULL, task TEXT NOT NULL,
        questions TEXT NOT NULL, reports INTEGER NOT NULL, ids BLOB NOT NULL,
        payloads BLOB NOT NULL, invitations BLOB, tracked INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE admissions (
        id BLOB PRIMARY KEY, batch INTEGER NOT NULL, invitations BLOB NOT NULL, content BLOB,
        day INTEGER
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE TABLE came (content BLOB PRIMARY KEY, day INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    """
    CREATE TABLE tallies (
        task TEXT NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (task, name)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE fates (
        key BLOB PRIMARY KEY, digest BLOB NOT NULL, fate TEXT, day INTEGER, sent INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE receipts (
        batch INTEGER NOT NULL, hashes BLOB NOT NULL, signature TEXT NOT NULL,
        day INTEGER NOT NULL, PRIMARY KEY (batch, hashes)
    ) STRICT, WITHOUT ROWID
    """,
)
"""Relays stood behind relays: batches came from others, and admissions that others asked for."""
TO_6: Made = (
    "DROP TABLE came",
    "ALTER TABLE batches RENAME TO older",
    BATCHES,
    "INSERT INTO batches SELECT number, sealed, task, questions, reports, ids, payloads, "
    "invitations FROM older",
    "DROP TABLE older",
    "ALTER TABLE admissions RENAME TO older",
    ADMISSIONS,
    "INSERT INTO admissions SELECT id, batch, invitations FROM older WHERE batch <> 0",
    "DROP TABLE older",
)
"""Made anew, since SQLite drops no column that a comment follows."""
NAMED: Made = (
    "ALTER TABLE fates RENAME TO states",
    "ALTER TABLE states RENAME COLUMN fate TO state",
)
"""Programs of version 6 made the table under either name."""
TO_7: Made = (
    "CREATE TABLE files (batch INTEGER PRIMARY KEY, task TEXT NOT NULL, name TEXT NOT NULL, "
    "reports INTEGER NOT NULL, counts TEXT NOT NULL, day INTEGER NOT NULL) STRICT",
)
MADE_6: Made = (*MADE_5, *TO_6)
MADE_7: Made = (*MADE_6, *NAMED, *TO_7)
SPOOLS: dict[int, tuple[Made, ...]] = {
    0: ((),),
    5: (MADE_5,),
    6: (MADE_6, (*MADE_6, *NAMED)),
    7: (MADE_7,),
    SPOOL_VERSION: (NEW,),
}
"""Version -> the ways in which programs have made a file of it; version 0 is an empty file."""

TO_8: Made = (
    "ALTER TABLE waiting RENAME TO older",
    QUEUES,
    WAITING,
    DEPARTED,
    "INSERT INTO queues SELECT random() & 0x7fffffffffffffff, task, questions, "
    "max(length(payload)), count(*) FROM older GROUP BY task, questions",
    "INSERT INTO waiting SELECT number, id, payload, invitation "
    "FROM older JOIN queues USING (task, questions)",
    "DELETE FROM states WHERE key IN (SELECT key_of_report(task, id) FROM older)",
    "DROP TABLE older",
)
"""Only a report that waits singly no longer has a state."""
VERSION_NOTED = f"PRAGMA user_version = {SPOOL_VERSION}"


def upgrade_spool(db: sqlite3.Connection, version: int) -> None:
    """Bring a file of an older version, or an empty one, to today's tables.

    The caller has checked the file's structure, and its transaction holds all of this.
    """
    if version:
        _upgrade(db, version)
    else:
        _execute(db, NEW)
    db.execute(VERSION_NOTED)


def _upgrade(db: sqlite3.Connection, version: int) -> None:
    db.create_function("key_of_report", 2, key_of_report, deterministic=True)
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
    if version < 6:
        _take_apart(db)
        _execute(db, TO_6)
    if "fates" in tables:
        _execute(db, NAMED)
    if version < 7:
        _execute(db, TO_7)
    _execute(db, TO_8)
    sealed = "SELECT number, task, ids FROM batches WHERE sealed"
    for number, task, ids in db.execute(sealed):
        outcomes.go_on(db, task, split(ids, REPORT_ID_BYTES), number)


def _take_apart(db: sqlite3.Connection) -> None:
    """Let what came from other relays in batches wait singly, as all that waits uninvited does."""
    whole = """
        SELECT number, task, questions, ids, payloads FROM batches WHERE NOT sealed
        AND invitations IS NULL AND number NOT IN (SELECT batch FROM admissions) LIMIT 1
    """
    add = """
        INSERT OR IGNORE INTO waiting SELECT ?1, ?2, ?3, ?4, NULL
        WHERE NOT EXISTS (SELECT 1 FROM fates WHERE key = ?5)
    """
    while row := db.execute(whole).fetchone():
        number, task, questions, column, payloads = row
        ids = split(column, REPORT_ID_BYTES)
        parts = zip(ids, split(payloads, len(payloads) // len(ids)), strict=True)
        rows = [(task, questions, i, part, key_of_report(task, i)) for i, part in parts]
        db.executemany(add, rows)
        batches.remove(db, number)


def _execute(db: sqlite3.Connection, statements: Made) -> None:
    for statement in statements:
        db.execute(statement)
