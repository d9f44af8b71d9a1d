"""Authenticates requests, checks scopes, and makes repeated writes and reads after writes consistent."""
