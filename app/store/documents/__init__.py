"""Stores documents, their chunks, vectors and postings, and the filters that select them.

Entry: `documents` for whole documents, `chunks` for passages. The folders of ranked reads import it.
"""
