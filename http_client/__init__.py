"""The HTTP client that fetches tasks and sends reports."""
