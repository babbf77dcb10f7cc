"""The curator: publishes tasks, counts reports, fits and serves models."""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # onnxruntime reports to its makers otherwise
