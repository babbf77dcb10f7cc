"""A relay: the place where anonymity is added between holders and their curator.

Holders send their reports here instead of to the curator. The relay checks each one against its
task, answers once it is durable, and forgets who sent it and when; reports go on to the curator
in shuffled batches of at least a given size. It never learns more than a report says, which is
no more than epsilon allows. ``status`` states what shuffling adds to that.

A report's way: ``app`` takes it, ``spool`` keeps it and seals it into a batch, ``forwarding`` sends
the batch.
"""
