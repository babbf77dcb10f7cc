"""``python -m curator`` is ``privet``."""

import sys

from curator.cli import main

if __name__ == "__main__":
    sys.exit(main())
