"""``privet-conformance``, which is ``python -m privet.conformance``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
