"""The curator's use cases: functions of a ``Curator`` and of the actor who asks, in a table.

Each declares its call, scope, audit entry and refusals, see ``table``; routes, pages and commands
translate. Errors are those of ``privet.protocol.errors``.
"""
