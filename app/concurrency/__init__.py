"""Bounds concurrent work, for every folder.

It has one limiter of places, one single flight, and one runner of processes with limits. Entry: `limiter`,
`single_flight` and `limited_process`.
"""
