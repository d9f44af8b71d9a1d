"""Reads texts and slides of Office files and RTF.

`office` and `rtf` read files, which `blocks` writes as Markdown.
"""
