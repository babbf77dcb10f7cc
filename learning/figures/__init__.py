"""Findings from reports beyond a model: differences from public data, their errors, false
reports."""
