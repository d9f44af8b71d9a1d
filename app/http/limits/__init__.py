"""Limits what clients may use: connections, origins, requests a minute, and concurrent work."""
