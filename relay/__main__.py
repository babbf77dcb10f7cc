"""``python -m privet.relay`` is ``privet-relay``."""

from .cli import main

main()
