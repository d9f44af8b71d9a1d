"""Stores documents, their chunks, vectors and postings."""
