"""Reads web pages and books.

`html_text` and `epub` read files. Messages in HTML are read by `html_text` too.
"""
