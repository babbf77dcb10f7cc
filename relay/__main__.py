"""``python -m privet.relay`` is ``privet-relay``."""

from privet.relay.cli import main

main()
