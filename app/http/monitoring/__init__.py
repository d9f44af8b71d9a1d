"""Counts, times and logs requests, and answers whether the service is healthy."""
