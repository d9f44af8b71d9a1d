"""Measures searches of many small users and of a large one, alone and in one database."""
