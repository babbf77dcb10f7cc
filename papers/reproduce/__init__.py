"""The experiments of the papers, and Privet's own: ``python -m reproduce``."""

from pathlib import Path

import privet

ROOT = Path(__file__).parents[1]
"""This project's folder."""
DOCS = ROOT.parent / "docs"
"""The documentation, some of whose pages show results."""
PRIVET = Path(privet.__file__).parent
"""The installed package that is measured."""
