"""Runs the hybrid statement."""
