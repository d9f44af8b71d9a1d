"""Connects to Postgres: pools, transactions with their user and limits, routes to a standby, and the SQL loader.

Entry: `transactions.Database`. Every other folder of `store` may import it.
"""
