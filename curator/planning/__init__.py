"""Planning a collection from public records: see ``planner``."""

from privet.curator.planning.planner import Figure, Plan, Prospect, Verdict, plan

__all__ = ["Figure", "Plan", "Prospect", "Verdict", "plan"]
