"""Taking reports in: bytes -> columns -> one durable transaction for all that wait together.

A canonical report for a task has a fixed layout, so a body is recognized by comparing a few slices
and the fields of a whole group are cut out of one array (``layouts``). The writer thread
(``committer``) checks, deduplicates and adds up a group at a time and answers it after the commit.
``endpoint`` is the plain ASGI callable that stands in front of the web framework.
"""
