"""Bounds concurrent work, for every folder.

It has one limiter of places, one single flight, threads for large work, and one runner of processes with limits.
Entry: `limiter`, `single_flight`, `offload` and `limited_process`.
"""
