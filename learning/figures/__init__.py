"""Figures of the holders from their reports: comparisons, power, scores, sentences on them."""
