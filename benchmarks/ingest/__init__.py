"""Measures how fast documents are stored, and the memory that it takes."""
