"""Defines the tools that agents call: one registry, served over REST and MCP and exported in the formats of model APIs.

A tool has a name, a description written for a model, models of its arguments and result, and a handler that runs the
pipelines of the REST API. A new one is an entry of `TOOLS` in the module of its handler.
"""
