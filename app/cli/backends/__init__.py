"""Carries out commands: on a database that the command opens, or by a running service.

Entry: `connecting.connected` gives a command its backend. Commands send requests and get answers in the JSON of the
REST API from both, and import nothing that only one of them needs.
"""
