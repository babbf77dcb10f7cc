"""``python -m client`` is ``privet-holder``."""

from client.cli import main

main()
