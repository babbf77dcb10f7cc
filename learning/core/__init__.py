"""Shared parts of all methods: counts, their variance and ratios, trees, public data, models."""
