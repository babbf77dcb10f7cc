"""Published limits, enforced by both sides before any work is done.

They bound what a hostile curator can make a holder allocate, and the reverse: reading, explaining
and answering any task takes under a second of one core and 64 MiB. All are checked on numbers
alone, before anything of the size they name is built.
"""

MAX_CELLS = 2**16
MAX_NODES = 2 * MAX_CELLS
MAX_DEPTH = 256
DEEPEST = MAX_CELLS.bit_length() - 1
"""Depth at which a tree of full levels has ``MAX_CELLS`` cells."""
MAX_COLUMNS = 20_000
MAX_QUESTIONS = 64
MAX_PART = 2**16
MAX_CLASSES = 1_000
MAX_LEVELS = 64
MAX_CATEGORIES = 2**20
MAX_SUMS = 2**21
MAX_PARAMETERS = 16
MAX_NAME_LENGTH = 200
MAX_CATEGORY_LENGTH = 1_000
MAX_DESCRIPTION_LENGTH = 10_000
MAX_TRANSLATIONS = 32
MAX_WAVES = 64
MAX_PANEL_SECONDS = 1_096 * 86_400  # three years
MAX_TASK_BYTES = 3 * 2**20
MAX_TASK_ITEMS = 3 * 2**18
MAX_TABLE_ENTRIES = 3 * 2**16
MAX_RANDOM_BYTES = 2**23
MAX_REPORT_BYTES = 2 * 2**20
SPARE_BYTES = 2**16
"""Slack above the size of a task's longest report; larger bodies get 413 unread."""
MAX_TEXT_BYTES = 40_000

BATCH, DELTA = 1_000, 1e-6
"""Reports that a relay waits for, and the delta of what sending them together adds to privacy."""
LATE_SECONDS = 3 * 86_400
"""The grace period: seconds after a collection has ended in which what relays took in time still
counts. A weekend."""
TASK_CAP, YEAR_CAP, DISCLOSED_CAP = 2.0, 4.0, 32.0
"""Default caps of a holder: epsilon for one task, epsilon and disclosed bits within 365 days."""
SMALLEST_GROUP = 20
"""The fewest people who share a stratum, unless curator or holder says otherwise."""
