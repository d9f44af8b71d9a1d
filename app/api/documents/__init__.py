"""Serves documents, their chunks, uploads, and changes of all documents that pass filters.

Entry: `router` and `selection_router`. `sources` and `search` import its models.
"""
