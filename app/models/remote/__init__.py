"""Calls models over HTTP."""
