"""Published limits, enforced by both sides before any work is done."""

MAX_CELLS = 2**16
MAX_NODES = 2 * MAX_CELLS
MAX_DEPTH = 256
MAX_COLUMNS = 20_000
MAX_QUESTIONS = 64
MAX_CLASSES = 1_000
MAX_TASK_BYTES = 64 * 2**20
MAX_REPORT_BYTES = 2 * 2**20
