"""Finds names in texts and queries, and compares them. Entry: `names`."""
