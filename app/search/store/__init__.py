"""Runs the hybrid statement, compiles conditions to tsqueries, and looks up stored words."""
