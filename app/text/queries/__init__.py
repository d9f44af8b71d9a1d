"""Parses queries, and matches them with passages.

Entry: `analysis.parse`. Other packages import its modules.
"""
