"""Whole populations: records in ``population``, the sums of their reports in ``sums``."""

from .population import simulate, simulate_counts, simulate_question
from .sums import simulate_sums

__all__ = ["simulate", "simulate_counts", "simulate_question", "simulate_sums"]
