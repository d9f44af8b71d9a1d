"""Measures how well the source code and the tables of this repository are found; see `measure`."""
