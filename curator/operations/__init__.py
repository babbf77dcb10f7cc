"""The curator's use cases: functions of a ``Curator`` and of the actor who asks, in a table.

Each declares its call, scope, audit entry and refusals, see ``table``; routes, pages and commands
translate. A use case has the time from ``curator.clock()`` and a task's head from
``curator.store.tasks.head``; a phase is ``phase(now, waves_of(curator, head))``, since a panel's is
by its waves. Errors are those of ``privet.protocol.errors``.
"""
