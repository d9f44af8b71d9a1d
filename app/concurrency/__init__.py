"""Bounds concurrent work, for every folder.

It has one limiter of places, one single flight, one runner of processes with limits, and one way to repeat a step of a
write. Entry: `limiter`, `single_flight`, `pipes` and `retries`.
"""
