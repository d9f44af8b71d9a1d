"""Finds the mentions of entities in stored texts and keeps them up to date."""
