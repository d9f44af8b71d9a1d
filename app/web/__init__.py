"""Serves the playground and Swagger UI from the files of this folder."""
