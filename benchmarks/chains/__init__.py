"""Generates questions whose answers are linked to them by an identifier alone."""
