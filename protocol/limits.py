"""Published limits, enforced by both sides before any work is done.

They bound what a hostile curator can make a holder allocate, and the reverse.
"""

MAX_CELLS = 2**16
MAX_NODES = 2 * MAX_CELLS
MAX_DEPTH = 256
MAX_COLUMNS = 20_000
MAX_QUESTIONS = 64
MAX_CLASSES = 1_000
MAX_CATEGORIES = 2**20
MAX_PARAMETERS = 16
MAX_NAME_LENGTH = 200
MAX_CATEGORY_LENGTH = 1_000
MAX_DESCRIPTION_LENGTH = 10_000
MAX_TASK_BYTES = 8 * 2**20
MAX_REPORT_BYTES = 2 * 2**20
MAX_TEXT_BYTES = 40_000
