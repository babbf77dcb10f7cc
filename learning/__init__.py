"""Statistics on public data and on sums of reports.

Partitions are grown, counts are debiased, models are fitted, explained, drawn and exported, and
collections are planned and simulated. Nothing here knows a database, HTTP, settings or a clock.
"""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # onnxruntime reports to its makers otherwise
