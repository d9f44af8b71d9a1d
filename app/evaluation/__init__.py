"""Measures retrieval quality on judged query sets through the pipelines."""
