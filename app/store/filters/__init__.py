"""Translates filters on documents to SQL.

Entry: `filters`. Every folder that reads documents imports it.
"""
