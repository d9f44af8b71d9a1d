"""Reads files of which each row or line is a document.

`csv_rows`, `json_lines` and `sheets` read files, of which `records` makes documents.
"""
