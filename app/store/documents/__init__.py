"""Stores documents, their chunks, vectors and postings.

Entry: `documents` for whole documents, `chunks` for passages. The folders of ranked reads import it.
"""
