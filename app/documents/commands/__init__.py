"""Implements the commands that store, list and count documents."""
