"""Stores chunks in a peer and asks it questions; each module is run as `python -m benchmarks.peers.runners.NAME`."""
