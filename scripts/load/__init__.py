"""The load test's parts: its population, holders that answer, requests, a sender, the summary."""
