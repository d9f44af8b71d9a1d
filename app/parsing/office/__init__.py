"""Reads texts and slides of Office files and RTF.

`office` reads files, which `blocks` writes as Markdown.
"""
