"""Cleans texts, and rewrites them as the words that Postgres indexes. Entry: `cleaning` and `tsvector_text`."""
