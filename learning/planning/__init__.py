"""Planning a collection from public records: see ``planner``."""

from .outcome import Figure, Needed, Plan, Prospect
from .planner import plan

__all__ = ["Figure", "Needed", "Plan", "Prospect", "plan"]
