"""Tests that send requests to the whole application."""

from api_database import address, database, embedder, patient_lookups

__all__ = ["address", "database", "embedder", "patient_lookups"]
