"""Planning a collection from public records: see ``planner``."""

from .outcome import Figure, Plan, Prospect, Verdict
from .planner import plan

__all__ = ["Figure", "Plan", "Prospect", "Verdict", "plan"]
