"""Runs a service under mixed load, hostile clients and kills, and verifies every acknowledged write."""
