"""Computes the probability that a hit is relevant, and calibrates it for a user."""
