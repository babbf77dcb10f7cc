"""A folder of sealed batches at both its ends."""

from privet.curator.collection.batch_reader import BatchReader
from privet.relay.batch_writer import BatchWriter


class BatchFolder(BatchReader, BatchWriter):
    """What a relay writes and a curator reads."""
