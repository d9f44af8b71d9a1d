"""Serves the pipelines over HTTP: routers, request and response models, authentication, limits and error responses.

`app.main.create_app` installs the parts. Middleware that is added last runs first, so `origins.install` is called last.
"""
