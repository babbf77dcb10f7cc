"""A relay: the place where anonymity is added between holders and their curator.

Holders send their reports here instead of to the curator. The relay checks each one against its
task, answers once it is durable, and forgets who sent it and when; reports go on to the curator
in shuffled batches of at least a given size. It never learns more than a report says, which is
no more than epsilon allows. ``amplification`` states what shuffling adds to that.
"""

from privet.relay.amplification import central_epsilon
from privet.relay.app import RelayApp
from privet.relay.forwarding import Forwarder
from privet.relay.intake import Intake
from privet.relay.spool import Spool

__all__ = ["Forwarder", "Intake", "RelayApp", "Spool", "central_epsilon"]
