"""``python -m privet.curator`` is ``privet``."""

import sys

from privet.curator.cli import main

if __name__ == "__main__":
    sys.exit(main())
