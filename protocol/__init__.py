"""The protocol of holders, relays and curators: all that crosses the wire between them.

    values       raw values of a record: what is missing, a number or a name
    spellings    other spellings of values, for readers of tables
    features     the fields of a record and its label, a file for each kind of feature
    partition    the tree of cells over the encoded features
    strata       the part of a cell that a report says in the clear
    conditions   what a node of the tree says of a record, in words
    label_scale  how a label becomes a level that a mechanism can report
    mechanisms   the local randomizers
    task         what a curator publishes: features, label, partitions, questions
    task_head    the same in short, read without its trees
    panel        a task that is asked in several waves
    report       what a holder sends, made from its record by ``make_report``; its receipt
    batch        many reports in columns, as relays forward them
    shuffling    what shuffling adds to the privacy of reports
    signature    a curator's signature of a task
    receipts     a curator's signatures of reports that count
    lifecycle    the states of a task and of a report
    status       what a status says of a collection
    results      what came out, for those who answered
    calls        each call: path, headers, media types, responses, problems
    earlier      tasks of earlier versions, in today's names
    errors       every error, with its problem type
    help_texts   the help of command lines, which are docstrings
    installing   the command that installs Privet, for messages
    limits       the published limits
    wire         canonical msgpack, and reading it from untrusted senders

A curator publishes a task; a holder turns its record into one report; the curator adds the payloads
up and never sees more. Nothing here does I/O, reads a clock or knows which side it is on.
docs/protocol.md, encoding.md and calls.md are the specification. Import from the modules: the
package itself exports nothing.
"""
