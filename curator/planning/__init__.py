"""Planning a collection from public records: see ``planner``."""

from privet.curator.planning.planner import Figure, Plan, Requirement, Verdict, plan

__all__ = ["Figure", "Plan", "Requirement", "Verdict", "plan"]
