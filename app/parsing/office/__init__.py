"""Reads texts and slides of Office files and RTF.

`office` reads files, which `office_markdown` writes as Markdown.
"""
