"""Serves the tools that agents call: the registry, its exports, and the REST endpoints."""
