"""Planning a collection from public records: see ``planner``."""

from privet.curator.planning.outcome import Figure, Plan, PlanDisplay, Prospect, Verdict
from privet.curator.planning.planner import plan

__all__ = ["Figure", "Plan", "PlanDisplay", "Prospect", "Verdict", "plan"]
