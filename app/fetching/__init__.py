"""Fetches pages and files over HTTP, of public hosts only, within limits."""
