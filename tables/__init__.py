"""CSV files as people have them: what they are written in, their rows, and numbers in their cells.

One reader for all sides: a curator's public data, files to predict for, and the file of a site.

    text_format  encoding, separator and decimal mark: detected or given
    csv_reader   bytes to a header and rows of texts
    cells        a cell as a number or as the value of a field

Only the standard library and ``privet.protocol``; no I/O.
"""
