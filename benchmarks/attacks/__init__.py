"""Runs attacks against a running service and measures their effect, at this revision and an earlier one."""
