"""Reads texts and slides of Office files and RTF.

`word_and_slides` and `rtf` read files; `office_markdown` writes what the library of Office files returns as Markdown.
"""
