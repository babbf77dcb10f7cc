"""Planning a collection from public records: see ``planner``."""

from .outcome import BehindRelay, Mean, Plan, Prospect, SampleSize
from .planner import plan

__all__ = ["BehindRelay", "Mean", "Plan", "Prospect", "SampleSize", "plan"]
