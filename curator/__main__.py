"""``python -m curator`` is ``privet``."""

import sys

from curator.cli import main

sys.exit(main())
