"""Reads the structure of documents: headings, tables, pages, sentences and metadata.

Entry: `structure`. Other packages import its modules.
"""
