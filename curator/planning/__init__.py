"""Planning a collection from public records: see ``planner``."""

from privet.curator.planning.outcome import Figure, Plan, Prospect, Verdict
from privet.curator.planning.planner import plan

__all__ = ["Figure", "Plan", "Prospect", "Verdict", "plan"]
