"""Explains where a passage stands in a search and what keeps it out."""
