"""Parses queries, and matches them with passages. Entry: `query_parsing.parse`."""
