"""``python -m privet.client`` is ``privet-holder``."""

from .cli import main

main()
