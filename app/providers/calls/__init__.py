"""Applies one policy to the calls of remote models: deadline, retries, circuit breaker, limits.

Entry: `policy`. The other modules of `providers` import it.
"""
