"""Implements the command line `stepwell`, one module per command, on the pipelines of the API."""
