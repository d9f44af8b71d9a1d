"""Fetches pages and files over HTTP, from public hosts only, within limits."""
