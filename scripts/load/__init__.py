"""The load test's parts: holders that answer, a spool of their reports, senders, the summary."""
