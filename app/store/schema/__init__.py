"""Defines the tables, and describes the schema that a database should have.

Entry: `tables`. Every folder of `store` but `connection` and `embedded` may import it.
"""
