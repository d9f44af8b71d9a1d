"""Stores, changes, reads and deletes documents: files and texts to chunks with vectors, postings and links.

Entry: `ingest` for one, `batches` for several. `sources`, `entities`, `search` and the folders above them import it.
"""
