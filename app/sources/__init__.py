"""Keeps folders in step with the documents stored of their files."""
