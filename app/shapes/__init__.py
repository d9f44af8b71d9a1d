"""Defines the core types that are passed between the packages.

Reading: Query → Candidate → Hit → Answer. Writing: ExtractedDocument → Upload → DocumentDraft →
Passage → Chunk. All are frozen dataclasses, each constructed in one package.
"""
