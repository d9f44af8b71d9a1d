"""Connects to Postgres: pools, transactions with their user and limits, routes of reads, and the SQL loader.

Entry: `transactions.Database`. Every other folder of `store` may import it.
"""
