"""Implements the commands of the database's owner for keys, users and the audit log."""
