"""A holder's POST, from its head to its commit, as curator and relay both take it.

``layout`` recognises a report by its fixed bytes, ``upload`` takes the call, and ``writer`` makes
groups of what waits together. What a group is written to is the server's own: a curator counts it,
a relay keeps it.
"""
