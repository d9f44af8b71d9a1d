"""Stores sources, and which files of them are stored in which version."""
