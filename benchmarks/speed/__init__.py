"""Measures statement latency, recall and request latency over a synthetic corpus of a given size."""
