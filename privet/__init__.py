"""Privet: decision trees learned from people who never reveal their record."""
