"""Checks, repairs, backs up and rebuilds a database."""
