"""Authenticates requests, checks scopes, and makes repeated writes and reads after writes consistent.

Entry: `auth`. The folders of routers import it.
"""
