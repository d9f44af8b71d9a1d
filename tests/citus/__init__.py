"""Compares answers from a Citus cluster with those of a single node, and counts the shards that statements touch."""
