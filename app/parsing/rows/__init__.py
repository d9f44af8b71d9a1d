"""Reads files of which each row, line or object is a document.

`csv_rows`, `json_lines`, `json_list` and `sheets` read files. `records` and `chat_messages` make documents of the rows.
"""
