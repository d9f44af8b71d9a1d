"""Limits what clients may use: connections, origins, requests a minute, and concurrent searches, reads and uploads.

Entry: `admission`. The folders of routers import it.
"""
