"""Cleans texts, and rewrites them as the words that Postgres indexes.

Entry: `cleaning` and `lexical`. Other packages import its modules.
"""
