"""What to expect of a collection before anybody is asked: see ``planner``."""

from privet.curator.planning.planner import Figure, Plan, Requirement, Verdict, plan

__all__ = ["Figure", "Plan", "Requirement", "Verdict", "plan"]
