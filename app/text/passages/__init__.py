"""Cuts documents into passages of a size in tokens.

Entry: `chunking`. Other packages import its modules.
"""
