"""Serves documents, their chunks, uploads, and changes of all documents that pass filters."""
