"""Receives request bodies within limits, and writes JSON responses."""
