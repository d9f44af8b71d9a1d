"""Runs the statements that repair, back up and rebuild a database."""
