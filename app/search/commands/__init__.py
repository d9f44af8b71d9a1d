"""Implements `stepwell search`, and prints hits."""
