"""Planning a collection from public records: see ``planner``."""

from .outcome import BehindRelay, Mean, Needed, Plan, Prospect
from .planner import plan

__all__ = ["BehindRelay", "Mean", "Needed", "Plan", "Prospect", "plan"]
