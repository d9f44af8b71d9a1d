"""Implements the commands that check, repair, back up and rebuild a database."""
