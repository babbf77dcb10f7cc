"""Planning a collection from public records: see ``planner``."""

from .outcome import BehindRelay, Figure, Needed, Plan, Prospect
from .planner import plan

__all__ = ["BehindRelay", "Figure", "Needed", "Plan", "Prospect", "plan"]
