"""Tests that send requests to the whole application."""

from api_database import address, database, embedder, patient_lookups
from one_parser import one_parser

__all__ = ["address", "database", "embedder", "one_parser", "patient_lookups"]
