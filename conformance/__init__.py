"""The conformance kit: any holder program, against good, bad and hostile tasks of a real curator.

``wire`` runs the curator on loopback behind what listens and misbehaves, ``clauses`` has what a
holder must do, each clause with its check, and ``vectors`` reads the archive of test vectors.
"""
