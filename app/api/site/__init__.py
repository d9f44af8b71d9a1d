"""Serves the playground and Swagger UI from the files of this package.

Entry: `docs.install` and `playground.install`. Only `main` imports it.
"""
