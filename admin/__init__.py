"""A client for a running curator's HTTP API."""
