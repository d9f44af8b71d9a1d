"""Counts, times and logs requests, and answers whether the service is healthy.

Entry: `metrics` and `health`. `edge` and `main` import it.
"""
