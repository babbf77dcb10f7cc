"""The way of a report, in order.

``upload`` takes the call for one report and ``batch`` the call for many; ``task_cache`` has what
they need to know of a task; ``writer`` makes groups of what waits together and has the store count
them, one durable transaction at a time.
"""
