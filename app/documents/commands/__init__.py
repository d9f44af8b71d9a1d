"""Implements the commands that store, list, show, delete and count documents."""
