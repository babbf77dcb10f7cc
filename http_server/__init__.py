"""Shared server parts: request limits, problem documents, logging, metrics."""
