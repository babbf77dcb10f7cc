"""The curator's use cases: functions of a ``Curator`` and of the actor who asks.

Each authorizes, does, writes the audit entry and counts in the metrics; routes, pages and commands
translate. Errors are those of ``privet.protocol.errors``; a call that raises has changed nothing.
Those that are coroutines compute in a worker process, by functions at the end of their file; the
others may take long, so web code calls them from other threads.
"""

from .curator import Curator

__all__ = ["Curator"]
