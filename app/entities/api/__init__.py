"""Serves entities and bulk upserts."""
