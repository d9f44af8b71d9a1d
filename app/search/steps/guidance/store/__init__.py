"""Looks up the entities that a query refers to, the documents linked to them, and their links to chunks."""
