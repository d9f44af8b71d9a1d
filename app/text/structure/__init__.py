"""Reads the structure of documents: headings, tables, sentences and metadata. Entry: `structure`."""
