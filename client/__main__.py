"""``python -m privet.client`` is ``privet-holder``."""

from privet.client.cli import main

main()
