"""Stores pages and files of the web by their addresses."""
